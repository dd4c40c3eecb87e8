"""The settings of Java's clients for ours: librdkafka for records, our own client for schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import WrongUsage
from headrace.cli.target import Target, parse_target
from headrace.client.jaas import parse_jaas

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from headrace.client.registry import RegistryClient

DEFAULT_REGISTRY: Final = "http://127.0.0.1:8081"
_JAVA_ONLY: Final = frozenset(
    {
        "auto.include.jmx.reporter",
        "client.dns.lookup",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.poll.records",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.class",
        "send.timeout.ms",
        "ssl.keystore.type",
        "ssl.truststore.type",
        "value.deserializer",
        "value.serializer",
    }
)
_RENAMED: Final = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.block.ms": "message.timeout.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.truststore.location": "ssl.ca.location",
}
_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
_KIB: Final = 1024


def kafka_target(servers: str, properties: Mapping[str, str]) -> Target:
    """The brokers, and the client's settings under the names that librdkafka has."""
    settings: dict[str, str] = {}
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            _, options = parse_jaas(value)
            settings |= {
                f"sasl.{key}": options[key] for key in ("username", "password") if key in options
            }
        elif name == "buffer.memory":
            settings["queue.buffering.max.kbytes"] = str(max(1, _number(name, value) // _KIB))
        elif name == "partition.assignment.strategy":
            settings[name] = ",".join(_assignor(each.strip()) for each in value.split(","))
        elif name not in _JAVA_ONLY:
            settings[_RENAMED.get(name, name)] = value
    return parse_target(servers, [f"{name}={value}" for name, value in settings.items()])


def will_pass(error: KafkaError) -> bool:
    """Whether a consumer goes on after this: a topic that is not there yet may come, as in Java."""
    from confluent_kafka import KafkaError

    waited_for = (KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART)
    return error.retriable() or error.code() in waited_for


def _assignor(name: str) -> str:
    """Java names a class; of those that both know, we know the strategy."""
    return _ASSIGNORS.get(name.rpartition(".")[2], name)


def _number(name: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise WrongUsage(f'{name} "{text}" is not a number', "give a whole number")
    return int(text)


def open_registry(properties: Mapping[str, str]) -> RegistryClient:
    """The registry of `schema.registry.url`, else of $SCHEMA_REGISTRY_URL."""
    from headrace.client.registry import RegistryClient, registry_settings

    url = os.environ.get("SCHEMA_REGISTRY_URL") or DEFAULT_REGISTRY
    return RegistryClient(registry_settings({"schema.registry.url": url, **properties}))


def is_true(properties: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """A flag among properties, as Java reads it: anything but `true` is false."""
    value = properties.get(name)
    return default if value is None else value.strip().lower() == "true"


def unescaped(text: str) -> str:
    """Shells pass `\\t` as it is written; Java's tools take it for a tab all the same."""
    return text.replace("\\t", "\t").replace("\\n", "\n")
