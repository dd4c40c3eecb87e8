"""Connectors by the names that configurations give them, and transforms that are functions.

Those of the house are listed without being imported, so that a worker without tasks stays small.
Others are found by the entry-point group `headrace.connect`, in a file (`file.py:Class`,
`file.py:function`), or in jars of `plugin.path`. A Java connector that the house has one of its own
for is meant by `java:` before its name.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import FunctionType
from typing import Final, Literal

from headrace.pipelines.connect.config.plugins import Role
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.java.found import java_classes
from headrace.pipelines.connect.tasks import Task, connector_of
from headrace.pipelines.connect.transforms.function import transform_of
from headrace.pipelines.connect.transforms.named import Plugin as Chained
from headrace.pipelines.connect.transforms.named import plugin_of
from headrace.pipelines.connect.transforms.transform import Transform
from headrace.pipelines.run.loading import NoSuchPipeline, load_pipeline

GROUP: Final = "headrace.connect"
JAVA: Final = "java:"


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


@dataclass(frozen=True, slots=True)
class JavaPlugin(Plugin):
    """A connector in a jar: `module` says so, `task` is its class in Java."""

    def load(self) -> type[Task]:
        """The class of its tasks; it is the first to need a JVM."""
        from headrace.pipelines.connect.java.loading import tasks_of

        return tasks_of(self.task, is_source=self.kind == "source")


_CONFLUENT: Final = "io.confluent.connect."
_JDBC: Final = _CONFLUENT + "jdbc."
_FILE: Final = "org.apache.kafka.connect.file."
_MQTT: Final = "streamreactor.connect.mqtt."
_REDIS: Final = "streamreactor.connect.redis.sink.RedisSinkConnector"
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
    Plugin(
        "io.confluent.kafka.connect.datagen.DatagenConnector",
        "source",
        "0.6.6",
        _CONNECTORS + "datagen.source",
        "DatagenSource",
        ("DatagenConnector", "Datagen"),
    ),
    Plugin(
        f"com.datamountaineer.{_MQTT}source.MqttSourceConnector",
        "source",
        "8.1.0",
        _CONNECTORS + "mqtt.source",
        "MqttSource",
        (f"io.lenses.{_MQTT}source.MqttSourceConnector", "MqttSourceConnector", "MqttSource"),
    ),
    Plugin(
        _CONFLUENT + "mqtt.MqttSourceConnector",
        "source",
        "1.7.4",
        _CONNECTORS + "mqtt.source",
        "ConfluentMqttSource",
    ),
    Plugin(
        f"com.datamountaineer.{_MQTT}sink.MqttSinkConnector",
        "sink",
        "8.1.0",
        _CONNECTORS + "mqtt.sink",
        "MqttSink",
        (f"io.lenses.{_MQTT}sink.MqttSinkConnector", "MqttSinkConnector", "MqttSink"),
    ),
    Plugin(
        _CONFLUENT + "elasticsearch.ElasticsearchSinkConnector",
        "sink",
        "15.0.0",
        _CONNECTORS + "search.sink",
        "SearchSink",
        (
            "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector",
            "ElasticsearchSinkConnector",
            "ElasticsearchSink",
            "OpensearchSinkConnector",
            "OpenSearchSink",
        ),
    ),
    Plugin(
        _CONFLUENT + "http.HttpSinkConnector",
        "sink",
        "1.7.8",
        _CONNECTORS + "http.sink",
        "HttpSink",
        ("HttpSinkConnector", "HttpSink"),
    ),
    Plugin(
        _CONFLUENT + "http.HttpSourceConnector",
        "source",
        "1.0.0",
        _CONNECTORS + "http.source",
        "HttpSource",
        ("HttpSourceConnector", "HttpSource"),
    ),
    Plugin(
        "com.github.jcustenborder.kafka.connect.redis.RedisSinkConnector",
        "sink",
        "0.0.8",
        _CONNECTORS + "redis.sink",
        "RedisSink",
        ("RedisSinkConnector", "RedisSink"),
    ),
    Plugin(
        f"com.datamountaineer.{_REDIS}",
        "sink",
        "8.1.0",
        _CONNECTORS + "redis.sink",
        "KcqlRedisSink",
        (f"io.lenses.{_REDIS}",),
    ),
    Plugin(
        "com.redis.kafka.connect.RedisStreamSourceConnector",
        "source",
        "0.9.1",
        _CONNECTORS + "redis.source",
        "RedisStreamSource",
        ("RedisStreamSourceConnector", "RedisStreamSource", "RedisSource"),
    ),
    Plugin(
        "com.trustpilot.connector.dynamodb.DynamoDBSourceConnector",
        "source",
        "0.7.0",
        _CONNECTORS + "dynamodb.source",
        "DynamoSource",
        ("DynamoDBSourceConnector", "DynamoDBSource"),
    ),
    Plugin(
        _CONFLUENT + "hdfs.HdfsSinkConnector",
        "sink",
        "10.2.14",
        _CONNECTORS + "lake.sink",
        "HdfsSink",
        ("HdfsSinkConnector", "HdfsSink"),
    ),
    Plugin(
        _CONFLUENT + "hdfs3.Hdfs3SinkConnector",
        "sink",
        "1.2.5",
        _CONNECTORS + "lake.sink",
        "Hdfs3Sink",
        ("Hdfs3SinkConnector", "Hdfs3Sink"),
    ),
    Plugin(
        _CONFLUENT + "s3.S3SinkConnector",
        "sink",
        "10.6.7",
        _CONNECTORS + "lake.sink",
        "S3Sink",
        ("S3SinkConnector", "S3Sink"),
    ),
    Plugin(
        "headrace.LocalSinkConnector",
        "sink",
        "1.0",
        _CONNECTORS + "lake.sink",
        "LocalSink",
        ("LocalSinkConnector", "LocalSink", "lake"),
    ),
)


def plugins() -> list[Plugin]:
    """Every connector that is known, by name."""
    own = [*BUILT_IN, *_installed()]
    return sorted((*own, *_in_jars(own)), key=lambda plugin: plugin.name)


def _in_jars(others: Iterable[Plugin]) -> list[Plugin]:
    """Those of `plugin.path`; a name or alias that another has is theirs with `java:` alone."""
    taken = {name for each in others for name in (each.name, *each.aliases)}
    found: list[Plugin] = []
    for each in java_classes():
        if each.role is Role.CONNECTOR:
            name = JAVA + each.name if each.name in taken else each.name
            aliases = tuple(alias for alias in each.aliases if alias not in taken)
            kind: Literal["source", "sink"] = "source" if each.is_source else "sink"
            found.append(JavaPlugin(name, kind, each.version, JAVA, each.name, aliases))
    return found


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
    if ":" in name and not name.startswith(JAVA):
        return _declared(_in_file(name))
    known = plugins()
    for plugin in known:
        if name == plugin.name or name in plugin.aliases or name == plugin.module + plugin.task:
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
