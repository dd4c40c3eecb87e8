"""The settings of Java's clients for ours: librdkafka for records, our own client for schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headrace.cli.target import Target, parse_target
from headrace.client.jaas import parse_jaas

if TYPE_CHECKING:
    from headrace.client.registry import RegistryClient

DEFAULT_REGISTRY: Final = "http://127.0.0.1:8081"
_JAVA_ONLY: Final = frozenset(
    {
        "key.serializer",
        "value.serializer",
        "key.deserializer",
        "value.deserializer",
        "interceptor.classes",
        "exclude.internal.topics",
        "max.poll.records",
        "ssl.truststore.type",
        "ssl.keystore.type",
    }
)
_RENAMED: Final = {
    "ssl.truststore.location": "ssl.ca.location",
    "max.block.ms": "message.timeout.ms",
}


def kafka_target(servers: str, properties: Mapping[str, str]) -> Target:
    """The brokers, and the client's settings under the names that librdkafka has."""
    settings: dict[str, str] = {}
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            _, options = parse_jaas(value)
            settings |= {
                f"sasl.{key}": options[key] for key in ("username", "password") if key in options
            }
        elif name not in _JAVA_ONLY:
            settings[_RENAMED.get(name, name)] = value
    return parse_target(servers, [f"{name}={value}" for name, value in settings.items()])


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
