"""The options of a sink: Spark's own, Kafka's producer settings behind `kafka.`, and a guarantee.

A setting is honoured where it has a meaning here, passed over where its purpose is served in
another way (`linger.ms`, `retries`), and refused where ignoring it would change what is written.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError
from headrace.records.compression import LEVELS, Codec, codec_named

DEFAULT_BATCH_BYTES: Final = 1_000_000
"""Before compression; even without any, such a batch passes the default `message.max.bytes`."""
DEFAULT_REQUEST_BYTES: Final = 1 << 20
DEFAULT_DELIVERY_TIMEOUT_MS: Final = 120_000
DEFAULT_TRANSACTION_TIMEOUT_MS: Final = 900_000
"""What brokers allow at most unless told otherwise: rows are computed while a transaction is open,
so a task may take much longer than the minute that Kafka's producers allow themselves.
"""

STREAM_BATCH: Final = "streamBatch"
"""The option by which `topic_writer` names query and batch over Spark Connect."""

WRITE_NAME: Final = "writeName"
"""The option that tells apart what one batch of a stream writes in several goes."""

_LOGGER: Final = logging.getLogger(__name__)
_PREFIX: Final = "kafka."
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_NOT_IN_NAME: Final = re.compile(r"[^A-Za-z0-9._-]")
_DIGEST_CHARS: Final = 16
_INT32_MAX: Final = 2**31 - 1

_REFUSED: Final = {
    "key.serializer": "keys are written as the bytes of the column `key`; "
    "serialise them in the DataFrame",
    "value.serializer": "values are written as the bytes of the column `value`; "
    "serialise them in the DataFrame",
    "transactional.id": "the sink makes an id for each query and task; "
    "the option `guarantee` chooses between transactions and none",
    "partitioner.class": "no Java class can run here; "
    "put the number of the partition into a column `partition`",
    "interceptor.classes": "no Java class can run here; change the rows in the DataFrame",
}
_READ_HERE: Final = frozenset(
    {
        "acks",
        "batch.size",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "max.request.size",
        "partitioner.ignore.keys",
        "transaction.timeout.ms",
    }
)
_WITHOUT_EFFECT: Final = frozenset(
    {
        "buffer.memory",
        "enable.idempotence",
        "enable.metrics.push",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "retries",
        "transaction.two.phase.commit.enable",
    }
)


class Guarantee(Enum):
    """How often a row may be seen by a reader of committed records."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class StreamBatch(NamedTuple):
    """The batch of a stream that a write is part of, for tasks that Spark does not tell it."""

    query_id: str
    batch_id: int

    @property
    def text(self) -> str:
        """As the value of the option."""
        return f"{self.query_id}/{self.batch_id}"


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Everything a task needs to know before it sees a row; it travels to the workers."""

    settings: ClientSettings
    topic: str | None
    guarantee: Guarantee
    write_name: str | None
    codec: Codec
    level: int | None
    batch_bytes: int
    request_bytes: int
    acks: int
    transaction_timeout_ms: int
    ignore_keys: bool
    stream_batch: StreamBatch | None = None

    @property
    def exactly_once(self) -> bool:
        return self.guarantee is Guarantee.EXACTLY_ONCE


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """The options as a user gave them, in any case; ConfigError says which one is wrong and why."""
    given = {name.lower(): value for name, value in options.items()}
    kafka = {
        name.removeprefix(_PREFIX): value
        for name, value in given.items()
        if name.startswith(_PREFIX)
    }
    for name, reason in _REFUSED.items():
        if name in kafka:
            raise ConfigError(f"option kafka.{name} = {kafka[name]!r} is not supported: {reason}")
    guarantee = _guarantee(given.get("guarantee"))
    write_name = _write_name(given.get(WRITE_NAME.lower()), guarantee)
    codec = _codec(kafka.get("compression.type", "none"))
    parsed = SinkOptions(
        settings=_settings(kafka),
        topic=given.get("topic"),
        guarantee=guarantee,
        write_name=write_name,
        stream_batch=_stream_batch(given.get(STREAM_BATCH.lower()), write_name),
        codec=codec,
        level=_level(kafka, codec),
        batch_bytes=_number(kafka, "batch.size", DEFAULT_BATCH_BYTES, 1, _INT32_MAX),
        request_bytes=_number(kafka, "max.request.size", DEFAULT_REQUEST_BYTES, 1, _INT32_MAX),
        acks=_acks(kafka.get("acks", "all"), guarantee),
        transaction_timeout_ms=_number(
            kafka, "transaction.timeout.ms", DEFAULT_TRANSACTION_TIMEOUT_MS, 1, _INT32_MAX
        ),
        ignore_keys=_flag(kafka, "partitioner.ignore.keys"),
    )
    if parsed.topic is not None and not parsed.topic:
        raise ConfigError("option topic is empty; name the topic to write to")
    return parsed


def is_exactly_once(options: Mapping[str, str]) -> bool:
    """What these options say of the guarantee, or leave to its default."""
    given = {name.lower(): value for name, value in options.items()}
    return _guarantee(given.get("guarantee")) is Guarantee.EXACTLY_ONCE


def default_write_name(topic: str) -> str:
    """The topic as the name of a write; one that cannot be is cut, and told apart by its digest."""
    if _NAME.fullmatch(topic):
        return topic
    digest = hashlib.sha256(topic.encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{_NOT_IN_NAME.sub('-', topic)[: 99 - _DIGEST_CHARS]}-{digest}"


def _settings(kafka: Mapping[str, str]) -> ClientSettings:
    """What remains is for the client. The time for a delivery bounds each of its calls."""
    properties = {
        name: value
        for name, value in kafka.items()
        if name not in _READ_HERE and name not in _WITHOUT_EFFECT
    }
    delivery = properties.pop("delivery.timeout.ms", str(DEFAULT_DELIVERY_TIMEOUT_MS))
    properties.setdefault("default.api.timeout.ms", delivery)
    properties.setdefault("client.id", "headrace-sink")
    try:
        settings, unknown = client_settings(properties)
    except ConfigError as fault:
        raise ConfigError(f"option kafka.{fault}") from None
    for name in unknown:
        _LOGGER.warning("option kafka.%s is not known to the headrace sink and has no effect", name)
    return settings


def _guarantee(text: str | None) -> Guarantee:
    try:
        return Guarantee(text) if text is not None else Guarantee.EXACTLY_ONCE
    except ValueError:
        allowed = " or ".join(guarantee.value for guarantee in Guarantee)
        raise ConfigError(f"option guarantee is {text!r}: allowed is {allowed}") from None


def _write_name(text: str | None, guarantee: Guarantee) -> str | None:
    if text is None:
        return None
    if not _NAME.fullmatch(text):
        raise ConfigError(
            f"option writeName is {text!r}: "
            "allowed are 1 to 100 letters, digits, dots, dashes and underscores"
        )
    if guarantee is not Guarantee.EXACTLY_ONCE:
        raise ConfigError(
            f"option writeName = {text!r} has a meaning only with guarantee = exactly-once"
        )
    return text


def _stream_batch(text: str | None, write_name: str | None) -> StreamBatch | None:
    if text is None:
        return None
    query_id, _, number = text.rpartition("/")
    if write_name is None or not _NAME.fullmatch(query_id) or not number.isdecimal():
        raise ConfigError(
            f"option {STREAM_BATCH} is {text!r}: it is set by headrace.pipelines.topic_writer; "
            "leave it out"
        )
    return StreamBatch(query_id, int(number))


def _codec(text: str) -> Codec:
    try:
        return codec_named(text)
    except ConfigError as fault:
        raise ConfigError(f"option kafka.compression.type: {fault}") from None


def _level(kafka: Mapping[str, str], codec: Codec) -> int | None:
    """The level of the codec in use; levels of the other codecs have no effect."""
    name = f"compression.{codec.name.lower()}.level"
    if codec not in LEVELS or name not in kafka:
        return None
    allowed, default = LEVELS[codec]
    if codec == Codec.GZIP and kafka[name] == "-1":
        return default
    return _number(kafka, name, default, allowed.start, allowed.stop - 1)


def _acks(text: str, guarantee: Guarantee) -> int:
    if text in ("all", "-1"):
        return -1
    if text != "1":
        raise ConfigError(
            f"option kafka.acks is {text!r}: allowed is all, or 1 with guarantee = at-least-once; "
            "rows that are not acknowledged could be lost"
        )
    if guarantee is Guarantee.EXACTLY_ONCE:
        raise ConfigError(
            "option kafka.acks is '1', but exactly-once needs all; "
            "leave it out or choose guarantee = at-least-once"
        )
    return 1


def _flag(kafka: Mapping[str, str], name: str) -> bool:
    text = kafka.get(name, "false").lower()
    if text not in ("true", "false"):
        raise ConfigError(f"option kafka.{name} is {text!r}: allowed is true or false")
    return text == "true"


def _number(kafka: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = kafka.get(name)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = low - 1
    if not low <= number <= high:
        raise ConfigError(
            f"option kafka.{name} is {text!r}: allowed is a number from {low} to {high}"
        )
    return number
