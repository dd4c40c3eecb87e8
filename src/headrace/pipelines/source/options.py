"""The options of the source: Spark's own for its `kafka` format, and a few of ours.

Names are compared without regard to case, as Spark does. A wrong value or combination is refused
before anything is read, with the option, the value and what would be right. The result is plain
data that travels to the workers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError
from headrace.pipelines.columns.schema import SCHEMA, SCHEMA_WITH_HEADERS, arrow_schema
from headrace.pipelines.run_environment import RUN_NAME
from headrace.pipelines.source.decoding import BYTES_STAY, OPTION_NAMES, Decoding, parse_decoding
from headrace.pipelines.source.offsets import (
    FROM_EARLIEST,
    FROM_LATEST,
    LATEST,
    Bound,
    OffsetBound,
    TimeBound,
    parse_bound,
    parse_partitions,
    parse_per_partition,
)
from headrace.pipelines.source.subscription import (
    Assignment,
    Subscription,
    parse_names,
    parse_pattern,
)

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BOOTSTRAP_VARIABLE: Final = "HEADRACE_BOOTSTRAP_SERVERS"
DEFAULT_BOOTSTRAP: Final = "localhost:9092"
DEFAULT_GROUP_PREFIX: Final = "headrace-source"

_STRATEGIES: Final = ("subscribe", "subscribePattern", "assign")
_OWN: Final = (
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    *OPTION_NAMES,
    "groupIdPrefix",
    "commitOffsets",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    # Settings of Spark's consumer pool, which has no counterpart here: taken and not used.
    "kafkaConsumer.pollTimeoutMs",
    "kafkaConsumer.useConsumerCache",
    "path",
)
_ENDINGS: Final = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_TRIGGER_LIMITS: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_REFUSED_PROPERTIES: Final = {
    "auto.offset.reset": "say where to begin with startingOffsets; a restarted query goes on where "
    "it stopped",
    "enable.auto.commit": "progress is committed after each batch; commitOffsets=false stops that",
    "key.deserializer": "keys come as bytes: decode the column in the query",
    "value.deserializer": "values come as bytes: decode the column in the query",
    "interceptor.classes": "nothing may change records on their way into a query",
}
# A consumer's settings for what does not happen here: membership, its buffers and its poll loop.
_WITHOUT_EFFECT: Final = frozenset(
    {
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "check.crcs",
        "client.dns.lookup",
        "client.rack",
        "connections.max.idle.ms",
        "exclude.internal.topics",
        "fetch.max.bytes",
        "fetch.min.bytes",
        "group.instance.id",
        "group.protocol",
        "heartbeat.interval.ms",
        "max.poll.interval.ms",
        "max.poll.records",
        "metadata.max.age.ms",
        "metric.reporters",
        "partition.assignment.strategy",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.max.ms",
        "send.buffer.bytes",
        "session.timeout.ms",
        "ssl.keystore.type",
        "ssl.truststore.type",
    }
)
_TIME: Final = re.compile(r"\s*(\d+)\s*([a-z]*)\s*")
_MS_PER: Final = {
    "": 1,
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Everything a query says about its source."""

    client: ClientSettings
    subscription: Subscription
    starting: Bound = FROM_EARLIEST
    ending: Bound = FROM_LATEST
    latest_if_no_start: bool = False
    max_offsets_per_trigger: int | None = None
    min_offsets_per_trigger: int | None = None
    max_trigger_delay_ms: int = 900_000
    min_partitions: int | None = None
    max_records_per_partition: int | None = None
    fail_on_data_loss: bool = True
    include_headers: bool = False
    decoding: Decoding = BYTES_STAY
    read_committed: bool = True
    group_id: str | None = None
    group_id_prefix: str = DEFAULT_GROUP_PREFIX
    commit_offsets: bool = True
    retries: int = 3
    retry_interval_ms: int = 1_000
    max_fetch_bytes: int = 8 << 20
    max_wait_ms: int = 500
    remarks: tuple[str, ...] = ()
    """What is odd about the options, but no reason to refuse them; for the log."""


def check_early(options: Mapping[str, str]) -> str | StructType:
    """The schema, after a first look at the options: so `load()` fails, not the query.

    Spark asks for a schema without saying whether a batch or a stream will be read, or whether
    the options are meant for a sink; what depends on it is checked when a reader is made.
    """
    given = _lowered(options)
    if any(name.lower() in given for name in _STRATEGIES):
        decoding = _common_options(given, FROM_EARLIEST).decoding
    else:
        decoding = parse_decoding(given)
    headers = _flag(given, "includeHeaders", False)
    if not decoding.columns:
        return SCHEMA_WITH_HEADERS if headers else SCHEMA
    # Only Spark can read DDL, and only with a session, which this process does not have.
    from pyspark.sql.pandas.types import from_arrow_schema

    return decoding.schema(from_arrow_schema(arrow_schema(headers=headers)))


def batch_options(options: Mapping[str, str]) -> SourceOptions:
    """The options of a batch read, from earliest to latest unless said otherwise."""
    given = _lowered(options)
    read = _common_options(given, FROM_EARLIEST)
    ending = _bound(given, _ENDINGS, FROM_LATEST)
    _refuse_edges(read.starting, ending)
    ignored = tuple(
        f"option {name} has no effect in a batch read"
        for name in _TRIGGER_LIMITS
        if name.lower() in given
    )
    return replace(read, ending=ending, remarks=read.remarks + ignored)


def stream_options(options: Mapping[str, str]) -> SourceOptions:
    """The options of a streaming read, from latest unless said otherwise."""
    given = _lowered(options)
    for name in _ENDINGS:
        if name.lower() in given:
            raise ConfigError(
                f"option {name} is for batch reads, a streaming query has no end: remove it, "
                "or use trigger(availableNow=True) to stop at what is there now"
            )
    return _common_options(given, FROM_LATEST)


def kafka_properties(options: Mapping[str, str]) -> dict[str, str]:
    """The options that begin with `kafka.`, without it; the address of the cluster always."""
    properties = {
        name[len("kafka.") :]: value
        for name, value in _lowered(options).items()
        if name.startswith("kafka.")
    }
    properties.setdefault(
        "bootstrap.servers", os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP
    )
    return properties


def _common_options(given: Mapping[str, str], default_start: Bound) -> SourceOptions:
    properties = kafka_properties(given)
    for name, remedy in _REFUSED_PROPERTIES.items():
        if name in properties:
            raise ConfigError(f"option kafka.{name} is not supported: {remedy}")
    isolation = _choice(
        "kafka.isolation.level",
        properties.pop("isolation.level", "read_committed"),
        ("read_committed", "read_uncommitted"),
    )
    group_id = properties.pop("group.id", None)
    max_fetch_bytes = properties.pop("max.partition.fetch.bytes", None)
    max_wait_ms = properties.pop("fetch.max.wait.ms", None)
    properties.setdefault("client.id", "headrace-source")
    client, unknown = client_settings(properties)
    starting = _bound(
        given,
        ("startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp"),
        default_start,
    )
    minimum = _positive(given, "minOffsetsPerTrigger")
    maximum = _positive(given, "maxOffsetsPerTrigger")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ConfigError(
            f"option minOffsetsPerTrigger ({minimum}) is more than maxOffsetsPerTrigger ({maximum})"
        )
    return SourceOptions(
        client=client,
        subscription=_subscription(given),
        starting=starting,
        latest_if_no_start=_choice(
            "startingOffsetsByTimestampStrategy",
            given.get("startingoffsetsbytimestampstrategy", "error"),
            ("error", "latest"),
        )
        == "latest",
        max_offsets_per_trigger=maximum,
        min_offsets_per_trigger=minimum,
        max_trigger_delay_ms=_duration_ms("maxTriggerDelay", given.get("maxtriggerdelay", "15m")),
        min_partitions=_positive(given, "minPartitions"),
        max_records_per_partition=_positive(given, "maxRecordsPerPartition"),
        fail_on_data_loss=_flag(given, "failOnDataLoss", True),
        include_headers=_flag(given, "includeHeaders", False),
        decoding=parse_decoding(given),
        read_committed=isolation == "read_committed",
        group_id=group_id,
        group_id_prefix=given.get("groupidprefix", os.environ.get(RUN_NAME, DEFAULT_GROUP_PREFIX)),
        commit_offsets=_flag(given, "commitOffsets", True),
        retries=_positive(given, "fetchOffset.numRetries") or 3,
        retry_interval_ms=_at_least_zero(given, "fetchOffset.retryIntervalMs", 1_000),
        max_fetch_bytes=_property("max.partition.fetch.bytes", max_fetch_bytes, 8 << 20),
        max_wait_ms=_property("fetch.max.wait.ms", max_wait_ms, 500),
        remarks=_remarks(given, unknown),
    )


def _subscription(given: Mapping[str, str]) -> Subscription:
    chosen = [name for name in _STRATEGIES if name.lower() in given]
    if len(chosen) != 1:
        raise ConfigError(
            "what to read must be said with exactly one of the options "
            f"{', '.join(_STRATEGIES)}; given: {', '.join(chosen) or 'none'}"
        )
    option = chosen[0]
    text = given[option.lower()]
    if option == "subscribe":
        return parse_names(option, text)
    if option == "subscribePattern":
        return parse_pattern(option, text)
    return Assignment(parse_partitions(option, text))


def _bound(given: Mapping[str, str], names: tuple[str, str, str], default: Bound) -> Bound:
    """One timestamp for all wins over timestamps per partition, these over offsets, as in Spark."""
    by_offset, by_timestamp, one_timestamp = names
    if (text := given.get(one_timestamp.lower())) is not None:
        return TimeBound(_number(one_timestamp, text, minimum=0))
    if (text := given.get(by_timestamp.lower())) is not None:
        each = parse_per_partition(by_timestamp, text)
        for partition, timestamp in each.items():
            if timestamp < 0:
                raise ConfigError(
                    f"option {by_timestamp} has {timestamp} for {partition}: "
                    "milliseconds since 1970 are expected"
                )
        return TimeBound(each=each)
    if (text := given.get(by_offset.lower())) is not None:
        return parse_bound(by_offset, text)
    return default


def _refuse_edges(starting: Bound, ending: Bound) -> None:
    """Refuse a batch that would begin at the end, end at the beginning, or run backwards."""
    if isinstance(starting, OffsetBound):
        for offset in (starting.everywhere, *starting.each.values()):
            if offset == LATEST:
                raise ConfigError(
                    "option startingOffsets cannot be latest (-1) in a batch read, "
                    "which would be empty: give an offset, a timestamp or earliest (-2)"
                )
    if isinstance(ending, OffsetBound):
        for offset in (ending.everywhere, *ending.each.values()):
            if offset is not None and offset < LATEST:
                raise ConfigError(
                    "option endingOffsets cannot be earliest (-2), the read would be empty: "
                    "give an offset, a timestamp or latest (-1)"
                )
    if type(starting) is type(ending) and starting.each and ending.each:
        if starting.each.keys() != ending.each.keys():
            apart = sorted(starting.each.keys() ^ ending.each.keys())
            raise ConfigError(
                "starting and ending offsets must name the same partitions; "
                f"only one of them names {', '.join(map(str, apart))}"
            )
        for partition, start in starting.each.items():
            if 0 <= ending.each[partition] < start:
                raise ConfigError(
                    f"{partition} would be read backwards: it begins at {start} "
                    f"and ends at {ending.each[partition]}"
                )


def _remarks(given: Mapping[str, str], unknown_properties: tuple[str, ...]) -> tuple[str, ...]:
    known = {name.lower(): name for name in _OWN}
    remarks = []
    for name in sorted(given):
        if name in known or name.startswith(("kafka.", "_")):
            continue
        close = get_close_matches(name, known, n=1, cutoff=0.8)
        if close:
            remarks.append(f"option {name} is unknown: did you mean {known[close[0]]}?")
    remarks.extend(
        f"option kafka.{name} is unknown and has no effect"
        for name in unknown_properties
        if name not in _WITHOUT_EFFECT
    )
    if "kafka.group.id" in given and "groupidprefix" in given:
        remarks.append("option groupIdPrefix has no effect beside kafka.group.id")
    return tuple(remarks)


def _lowered(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _flag(given: Mapping[str, str], option: str, default: bool) -> bool:
    text = given.get(option.lower())
    if text is None:
        return default
    return _choice(option, text, ("true", "false")) == "true"


def _choice(option: str, text: str, allowed: tuple[str, ...]) -> str:
    chosen = text.strip().lower()
    if chosen not in allowed:
        raise ConfigError(f"option {option} is {text!r}; allowed: {', '.join(allowed)}")
    return chosen


def _positive(given: Mapping[str, str], option: str) -> int | None:
    text = given.get(option.lower())
    return None if text is None else _number(option, text, minimum=1)


def _at_least_zero(given: Mapping[str, str], option: str, default: int) -> int:
    return _number(option, given.get(option.lower(), str(default)), minimum=0)


def _property(name: str, text: str | None, default: int) -> int:
    return default if text is None else _number(f"kafka.{name}", text, minimum=1)


def _number(option: str, text: str, *, minimum: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = minimum - 1
    if not minimum <= number < 1 << 63:
        raise ConfigError(
            f"option {option} is {text!r}; a whole number of {minimum} or more is expected"
        )
    return number


def _duration_ms(option: str, text: str) -> int:
    match = _TIME.fullmatch(text.lower())
    if match is None or match[2] not in _MS_PER:
        raise ConfigError(
            f"option {option} is {text!r}; a time such as 500ms, 30s or 15m is expected"
        )
    return int(match[1]) * _MS_PER[match[2]]
