"""Settings of Java's clients under the names that librdkafka has for the same things.

Only names and forms are translated; whether a value makes sense is for librdkafka to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.client.jaas import parse_jaas

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


def for_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """The same settings without those that only Java has; ValueError for a size that is none."""
    settings: dict[str, str] = {}
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            _, options = parse_jaas(value)
            settings |= {
                f"sasl.{key}": options[key] for key in ("username", "password") if key in options
            }
        elif name == "buffer.memory":
            if not value.strip().isdecimal():
                raise ValueError(f'{name} "{value}" is not a number')
            settings["queue.buffering.max.kbytes"] = str(max(1, int(value) // _KIB))
        elif name == "partition.assignment.strategy":
            # Java names a class; of those that both know, we know the strategy.
            classes = [each.strip() for each in value.split(",")]
            settings[name] = ",".join(
                _ASSIGNORS.get(each.rpartition(".")[2], each) for each in classes
            )
        elif name not in _JAVA_ONLY:
            settings[_RENAMED.get(name, name)] = value
    return settings
