"""Connectors by the names that configurations give them, and transforms that are functions.

Those of the house are listed without being imported, so that a worker without tasks stays small.
Others are found by the entry-point group `headrace.connect`, or in a file: `file.py:Class`,
`file.py:function`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import FunctionType
from typing import Final, Literal

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.tasks import Task, connector_of
from headrace.pipelines.connect.transforms.function import transform_of
from headrace.pipelines.connect.transforms.named import Plugin as Chained
from headrace.pipelines.connect.transforms.named import plugin_of
from headrace.pipelines.connect.transforms.transform import Transform
from headrace.pipelines.run.loading import NoSuchPipeline, load_pipeline

GROUP: Final = "headrace.connect"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A connector as it is listed, and where its tasks are found."""

    name: str
    kind: Literal["source", "sink"]
    version: str
    module: str
    task: str
    aliases: tuple[str, ...] = ()

    def load(self) -> type[Task]:
        """The class of its tasks."""
        found = getattr(importlib.import_module(self.module), self.task)
        assert isinstance(found, type)
        assert issubclass(found, Task)
        return found


_JDBC: Final = "io.confluent.connect.jdbc."
_FILE: Final = "org.apache.kafka.connect.file."
_CONNECTORS: Final = "headrace.pipelines.connect.connectors."

BUILT_IN: Final = (
    Plugin(
        _JDBC + "JdbcSinkConnector",
        "sink",
        "10.8.4",
        _CONNECTORS + "jdbc.sink",
        "JdbcSink",
        ("JdbcSinkConnector", "JdbcSink"),
    ),
    Plugin(
        _JDBC + "JdbcSourceConnector",
        "source",
        "10.8.4",
        _CONNECTORS + "jdbc.source",
        "JdbcSource",
        ("JdbcSourceConnector", "JdbcSource"),
    ),
    Plugin(
        _FILE + "FileStreamSinkConnector",
        "sink",
        "4.3.0",
        _CONNECTORS + "file_sink",
        "FileStreamSink",
        ("FileStreamSinkConnector", "FileStreamSink"),
    ),
    Plugin(
        _FILE + "FileStreamSourceConnector",
        "source",
        "4.3.0",
        _CONNECTORS + "file_source",
        "FileStreamSource",
        ("FileStreamSourceConnector", "FileStreamSource"),
    ),
)


def plugins() -> list[Plugin]:
    """Every connector that is known, by name."""
    return sorted((*BUILT_IN, *_installed()), key=lambda plugin: plugin.name)


@cache
def _loaded() -> tuple[object, ...]:
    """What other packages offer. It is imported: only itself knows its names."""
    return tuple(entry.load() for entry in entry_points(group=GROUP))


def _installed() -> list[Plugin]:
    return [_declared(each) for each in _loaded() if isinstance(each, type)]


def transform(name: str) -> Chained[Transform] | None:
    """A function as a transform, by its declared name or as `file.py:function`; None if none is."""
    if ":" in name:
        try:
            return replace(plugin_of(transform_of(_in_file(name))), name=name)
        except TypeError as fault:
            raise ConnectException(str(fault)) from fault
    functions = [transform_of(each) for each in _loaded() if isinstance(each, FunctionType)]
    return next((plugin_of(each) for each in functions if name == each.name), None)


def transforms(config: Mapping[str, str]) -> list[Chained[Transform]]:
    """The functions that a connector's settings name as transforms."""
    named = [
        value
        for key, value in config.items()
        if key.startswith("transforms.") and key.endswith(".type")
    ]
    return [found for found in map(transform, named) if found is not None]


def _declared(task: object) -> Plugin:
    if not isinstance(task, type) or not issubclass(task, Task):
        raise ConnectException(f"{task!r} is not a connector: write a SourceTask or a SinkTask")
    try:
        said = connector_of(task)
    except TypeError as fault:
        raise ConnectException(str(fault)) from fault
    return Plugin(
        said.name, said.kind, said.version, task.__module__, task.__qualname__, said.aliases
    )


def find(name: str) -> Plugin:
    """The connector of that name; ConnectException names those that come near."""
    if ":" in name:
        return _declared(_in_file(name))
    known = plugins()
    for plugin in known:
        if name == plugin.name or name in plugin.aliases:
            return plugin
    near = difflib.get_close_matches(name, _names(known), n=3, cutoff=0.6)
    offered = ", ".join(sorted(plugin.name for plugin in known))
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    raise ConnectException(
        f"Failed to find any class that implements Connector and which name matches {name}. "
        f"{meant}Available connectors are: {offered}"
    )


def _in_file(target: str) -> Callable[..., object]:
    try:
        return load_pipeline(target, Path.cwd()).function
    except NoSuchPipeline as fault:
        raise ConnectException(str(fault)) from fault


def _names(known: list[Plugin]) -> Iterator[str]:
    for plugin in known:
        yield plugin.name
        yield from plugin.aliases
