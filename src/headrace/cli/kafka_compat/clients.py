"""The settings of Java's clients for ours: librdkafka for records, our own client for schemas."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import WrongUsage
from headrace.cli.target import Target, parse_target
from headrace.librdkafka.settings import for_librdkafka

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from headrace.client.registry import RegistryClient

DEFAULT_REGISTRY: Final = "http://127.0.0.1:8081"


def kafka_target(servers: str, properties: Mapping[str, str]) -> Target:
    """The brokers, and the client's settings under the names that librdkafka has."""
    try:
        settings = for_librdkafka(properties)
    except ValueError as error:
        raise WrongUsage(str(error), "give a whole number") from None
    return parse_target(servers, [f"{name}={value}" for name, value in settings.items()])


def will_pass(error: KafkaError) -> bool:
    """Whether a consumer goes on after this: a topic that is not there yet may come, as in Java."""
    from confluent_kafka import KafkaError

    waited_for = (KafkaError._PARTITION_EOF, KafkaError.UNKNOWN_TOPIC_OR_PART)
    return error.retriable() or error.code() in waited_for


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
