"""Connectors by the names that configurations give them.

Those of the house are listed without being imported, so that a worker without tasks stays small.
Others are found by the entry-point group `headrace.connect`, or in a file: `file.py:Class`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Literal

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.tasks import Task, connector_of
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
def _installed() -> tuple[Plugin, ...]:
    """Those of other packages. They are imported: only they know their names."""
    return tuple(_declared(entry.load()) for entry in entry_points(group=GROUP))


def _declared(task: type[Task]) -> Plugin:
    said = connector_of(task)
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


def _in_file(target: str) -> type[Task]:
    try:
        found = load_pipeline(target, Path.cwd()).function
    except NoSuchPipeline as fault:
        raise ConnectException(str(fault)) from fault
    if isinstance(found, type) and issubclass(found, Task):
        return found
    raise ConnectException(f"{target} is not a connector: write a SourceTask or a SinkTask")


def _names(known: list[Plugin]) -> Iterator[str]:
    for plugin in known:
        yield plugin.name
        yield from plugin.aliases
