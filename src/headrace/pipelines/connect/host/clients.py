"""What the clients of a task are told: by the worker, and over it by the connector's overrides.

Names are those of Java's clients. What they have no meaning for here is passed over, as Java's
clients pass over what they do not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.client.consuming import Consumption
from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError
from headrace.java.regex import compile_java
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.host.output import OutputSettings
from headrace.records.compression import codec_named

_BATCH_BYTES: Final = 256 << 10
_FOR_EVER_MS: Final = 2**31 - 1


def properties_of(
    kind: str, worker: Mapping[str, str], connector: Mapping[str, str]
) -> dict[str, str]:
    """The properties of a `producer`, `consumer` or `admin` of a connector."""
    given = {"bootstrap.servers": worker.get("bootstrap.servers", "localhost:9092")}
    for source, prefix in ((worker, f"{kind}."), (connector, f"{kind}.override.")):
        given |= {
            name.removeprefix(prefix): value
            for name, value in source.items()
            if name.startswith(prefix)
        }
    return given


def connection_of(properties: Mapping[str, str], client_id: str) -> ClientSettings:
    """How to reach the cluster."""
    try:
        settings, _ = client_settings({"client.id": client_id, **properties})
    except ConfigError as fault:
        raise ConfigException(str(fault)) from fault
    return settings


def producer_connection_of(properties: Mapping[str, str], client_id: str) -> ClientSettings:
    """How a producer reaches it: it waits out an outage, unless it was told not to."""
    patience = properties.get("delivery.timeout.ms", str(_FOR_EVER_MS))
    return connection_of({"default.api.timeout.ms": patience, **properties}, client_id)


def output_of(properties: Mapping[str, str]) -> OutputSettings:
    """How records are written."""
    try:
        codec = codec_named(properties.get("compression.type", "none"))
    except ConfigError as fault:
        raise ConfigException(str(fault)) from fault
    return OutputSettings(
        codec=codec,
        batch_bytes=max(_number(properties, "batch.size", _BATCH_BYTES), 1),
        request_bytes=_number(properties, "max.request.size", 1 << 20),
    )


def transaction_timeout_ms_of(properties: Mapping[str, str]) -> int:
    """How long brokers leave a producer's transaction open."""
    return _number(properties, "transaction.timeout.ms", 60_000)


def consumption_of(
    properties: Mapping[str, str], name: str, settings: Mapping[str, object]
) -> Consumption:
    """What a sink reads, and as whom."""
    topics = settings[keys.TOPICS]
    pattern = settings[keys.TOPICS_REGEX]
    return Consumption(
        properties.get("group.id", f"connect-{name}"),
        topics=tuple(topics) if isinstance(topics, list) else (),
        pattern=compile_java(str(pattern)) if pattern else None,
        read_committed=properties.get("isolation.level") == "read_committed",
        reset=properties.get("auto.offset.reset", "earliest"),
        session_timeout_ms=_number(properties, "session.timeout.ms", 45_000),
        heartbeat_interval_ms=_number(properties, "heartbeat.interval.ms", 3_000),
        rebalance_timeout_ms=_number(properties, "max.poll.interval.ms", 300_000),
        metadata_max_age_ms=_number(properties, "metadata.max.age.ms", 300_000),
        max_wait_ms=_number(properties, "fetch.max.wait.ms", 500),
        partition_bytes=_number(properties, "max.partition.fetch.bytes", 1 << 20),
        max_bytes=_number(properties, "fetch.max.bytes", 16 << 20),
    )


def _number(properties: Mapping[str, str], name: str, default: int) -> int:
    text = properties.get(name, "").strip()
    if not text:
        return default
    if not text.isdecimal():
        raise ConfigException.of(name, text, "Not a number of type INT")
    return int(text)
