"""Retention as readers see it: by age, by size, for ever, by key; and which setting decides."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest
from confluent_kafka import TopicPartition

from headrace.records.batch import split_batches
from headrace.records.record import iterate
from headrace.testing import Broker
from tests.clients.configs import Resource, configs_of
from tests.clients.consumer.application import Members, offsets
from tests.clients.contract import eventually
from tests.clients.raw import Connection
from tests.clients.records import Record
from tests.clients.requests import (
    CREATE_TOPICS_VERSION,
    EARLIEST,
    LATEST,
    METADATA_VERSION,
    create_topics_request,
    fetched,
    metadata_request,
    offset_at,
    produced,
)

DAY_MS = 24 * 60 * 60 * 1000
HOUR_MS = 60 * 60 * 1000
WEEK_MS = 7 * DAY_MS


def aged(connection: Connection, topic: str, *ages_days: float) -> None:
    """Write one record per age; each in a batch of its own."""
    now_ms = int(time.time() * 1000)
    for age in ages_days:
        produced(connection, topic, [Record(b"k", b"v", now_ms - int(age * DAY_MS))])


def first_offset(connection: Connection, topic: str) -> int:
    return int(offset_at(connection, topic, EARLIEST).offset)


def readable(members: Members, topic: str, count: int) -> list[int]:
    """The offsets that a consumer from the start gets."""
    reader = members.new("reader")
    reader.consumer.assign([TopicPartition(topic, 0)])
    return offsets(reader.take(count))


@pytest.mark.spec("admin:CR-02", "admin:CR-03", "slides:F01")
def test_records_older_than_a_week_are_dropped_and_later_ones_kept(
    connection: Connection, members: Members, new_topic: Callable[..., str]
) -> None:
    """Ages of 12, 10, 6, 5 and 2 days, one segment each, limit 7 days: 2, 3 and 4 stay."""
    topic = new_topic(config={"retention.ms": str(WEEK_MS), "segment.ms": str(HOUR_MS)})
    aged(connection, topic, 12, 10, 6, 5, 2)
    eventually(lambda: first_offset(connection, topic) == 2, "the first two to go")
    assert readable(members, topic, 3) == [2, 3, 4]


@pytest.mark.spec("admin:CR-02")
def test_only_whole_segments_go(
    connection: Connection, members: Members, new_topic: Callable[..., str]
) -> None:
    """A record that is too old stays as long as its segment holds one that is not."""
    limits = {"retention.ms": str(WEEK_MS), "segment.ms": str(30 * DAY_MS)}
    shared, other = (new_topic(config=limits) for _ in range(2))
    # The youngest goes first: retention, which may come between two writes, never finds the
    # segment with nothing but what is too old.
    aged(connection, shared, 6, 12, 10)
    # Retention looks at all topics in turn: what it does to a later one says it was here.
    aged(connection, other, 40, 9)
    aged(connection, other, 1)
    eventually(lambda: first_offset(connection, other) > 0, "retention to have been here")
    assert readable(members, shared, 3) == [0, 1, 2]


@pytest.mark.spec("slides:F01", "slides:F05")
def test_a_log_that_is_too_large_loses_its_oldest_segments(
    connection: Connection, members: Members, new_topic: Callable[..., str]
) -> None:
    """retention.bytes keeps the newest segments; a reader of old offsets is put where data is."""
    mebi = 1 << 20
    topic = new_topic(config={"retention.bytes": str(2 * mebi), "segment.bytes": str(mebi)})
    now_ms = int(time.time() * 1000)
    for _ in range(8):
        produced(connection, topic, [Record(None, b"x" * (mebi * 3 // 4), now_ms)])
    # Three segments of one record each are a bit more than two mebibytes, two are less.
    first = 5
    eventually(lambda: first_offset(connection, topic) == first, "the first segments to go")
    for reset, begins in (("earliest", first), ("latest", None)):
        late = members.new("late", auto_offset_reset=reset)
        late.consumer.assign([TopicPartition(topic, 0, 0)])
        if begins is None:
            assert late.poll(0.3) is None
        else:
            assert offsets(late.take(8 - first)) == list(range(begins, 8))


@pytest.mark.spec("slides:F01")
def test_never_is_a_retention_too(
    connection: Connection, members: Members, new_topic: Callable[..., str]
) -> None:
    """-1 for age and size keeps what is a year old, while another topic's is dropped."""
    segments = {"segment.ms": str(HOUR_MS)}
    forever = new_topic(config={**segments, "retention.ms": "-1", "retention.bytes": "-1"})
    mortal = new_topic(config={**segments, "retention.ms": str(WEEK_MS)})
    for topic in (forever, mortal):
        aged(connection, topic, 365, 300, 1)
    eventually(lambda: first_offset(connection, mortal) == 2, "retention to have been here")
    assert readable(members, forever, 3) == [0, 1, 2]


@pytest.mark.spec("slides:F01", "slides:F06", "admin:CR-01")
@pytest.mark.parametrize(
    ("policy", "kept"),
    [("delete", [3]), ("compact", [0, 2, 3]), ("compact,delete", [3])],
)
def test_what_a_policy_keeps(
    connection: Connection,
    members: Members,
    new_topic: Callable[..., str],
    policy: str,
    kept: list[int],
) -> None:
    """The last record of each key for ever, those of the last week, or both conditions at once."""
    topic = new_topic(
        config={
            "cleanup.policy": policy,
            "retention.ms": str(WEEK_MS),
            "segment.ms": str(HOUR_MS),
            "min.cleanable.dirty.ratio": "0.01",
        }
    )
    now_ms = int(time.time() * 1000)
    for key, age_days in ((b"a", 365), (b"b", 300), (b"b", 290), (b"c", 0)):
        produced(connection, topic, [Record(key, b"v", now_ms - age_days * DAY_MS)])
    eventually(lambda: stored_offsets(connection, topic) == kept, "the cleaner to be through")
    assert readable(members, topic, len(kept)) == kept


def stored_offsets(connection: Connection, topic: str) -> list[int]:
    """The offsets that still have records, from the start of the log on."""
    found: list[int] = []
    place, end = first_offset(connection, topic), int(offset_at(connection, topic, LATEST).offset)
    while place < end:
        part = fetched(connection, topic, place).records
        if not part:
            break  # the log begins later by now
        for header, batch in split_batches(part, allow_partial_tail=True):
            found += [record.offset for record in iterate(header, batch)]
            place = header.next_offset
    return found


def in_force(properties: Mapping[str, object]) -> dict[str, str | None]:
    """What a topic and its broker say, where the broker was started with these settings."""
    with Broker(properties) as broker, Connection(broker.bootstrap_servers) as connection:
        connection.ask(create_topics_request("plain"), CREATE_TOPICS_VERSION)
        (node,) = connection.ask(metadata_request(), METADATA_VERSION).brokers
        own = configs_of(connection, str(node.node_id), kind=Resource.BROKER)
        told = {**own, **configs_of(connection, "plain")}
        return {name: each.value for name, each in told.items()}


@pytest.mark.spec(
    "slides:F02", "slides:F03", "slides:F04", "slides:F05", "slides:F07", "book1:N-01"
)
def test_a_week_and_any_size_is_the_default() -> None:
    """Topics of a broker without settings are deleted from after 168 hours."""
    told = in_force({})
    keys = "log.retention.ms log.retention.minutes log.retention.hours log.retention.bytes"
    assert [told[key] for key in keys.split()] == [None, None, "168", "-1"]
    assert told["log.cleanup.policy"] == told["cleanup.policy"] == "delete"
    assert (told["retention.ms"], told["retention.bytes"]) == (str(WEEK_MS), "-1")


@pytest.mark.spec("slides:F02", "slides:F03", "slides:F04", "slides:F05", "slides:F07")
@pytest.mark.parametrize(
    ("settings", "retention_ms"),
    [
        ({"log.retention.hours": 5}, 5 * HOUR_MS),
        ({"log.retention.hours": 5, "log.retention.minutes": 7}, 7 * 60_000),
        (
            {"log.retention.hours": 5, "log.retention.minutes": 7, "log.retention.ms": 9_000},
            9_000,
        ),
    ],
    ids=["hours", "minutes", "milliseconds"],
)
def test_milliseconds_win_over_minutes_over_hours(
    settings: dict[str, int], retention_ms: int
) -> None:
    """The finest unit that is set decides for every topic that does not say otherwise."""
    others = {"log.retention.bytes": 12345, "log.cleanup.policy": "compact,delete"}
    told = in_force({**settings, **others})
    assert told["retention.ms"] == str(retention_ms)
    assert told["retention.bytes"] == "12345"
    assert told["cleanup.policy"] == "compact,delete"


def test_a_broker_of_tests_looks_for_old_records_only_if_told() -> None:
    """Records of tests have any date: none is gone when a run has lasted five minutes."""
    interval = "log.retention.check.interval.ms"
    assert in_force({})[interval] == str(DAY_MS)
    assert in_force({interval: 100})[interval] == "100"
