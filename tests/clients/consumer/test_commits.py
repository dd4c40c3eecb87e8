"""Commits: when they happen, what they cost when they do not, and who may no longer make them."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace.coordinator.partitioner import partition_for
from tests.clients.consumer.application import (
    Members,
    committed_of,
    numbered,
    offsets,
    read_all,
    settled,
    shared_out,
    values,
    write,
)
from tests.clients.consumer.mortal import mortal
from tests.clients.contract import eventually
from tests.clients.drivers.java_consumer import OpenedConsumers
from tests.clients.groups.raw_members import described
from tests.clients.raw import Connection
from tests.clients.requests import LATEST, METADATA_VERSION, metadata_request, offset_at


@pytest.mark.spec("slides:D18", "admin:CO-03", "book1:C-17", "book1:C-33")
def test_auto_commit_is_the_default(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """Without a word about commits, what was polled is committed every interval."""
    write(bootstrap, topic, numbered(8))
    first = members.join(group, topic, enable_auto_commit=None, auto_commit_interval_ms=50)
    assert values(first.take(5)) == numbered(5)
    eventually(lambda: committed_of(bootstrap, group, topic) == 5, "the commit of five records")
    assert values(first.take(3)) == numbered(3, start=5)
    first.close()
    # Broker offsets alone drive the flow: the next one goes on where the first was.
    write(bootstrap, topic, [b"8"])
    assert values(members.join(group, topic).take(1)) == [b"8"]


@pytest.mark.spec("slides:D18", "admin:CO-03")
def test_auto_commit_of_the_java_client_is_on_every_five_seconds(
    java_consumers: OpenedConsumers,
) -> None:
    """enable.auto.commit=true and auto.commit.interval.ms=5000 where nothing else is said."""
    keys = ["enable.auto.commit", "auto.commit.interval.ms"]
    assert java_consumers.program.call("defaults", keys=keys) == {
        "enable.auto.commit": "true",
        "auto.commit.interval.ms": "5000",
    }


@pytest.mark.spec("slides:D18", "admin:CO-03")
def test_with_auto_commit_off_nothing_is_committed_by_itself(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """Neither polling nor closing commits; the next member begins where the first did."""
    write(bootstrap, topic, numbered(5))
    first = members.join(group, topic, auto_commit_interval_ms=50)
    assert values(first.take(5)) == numbered(5)
    first.close()
    assert committed_of(bootstrap, group, topic) is None
    assert values(members.join(group, topic).take(5)) == numbered(5)


@pytest.mark.spec("book1:C-19")
def test_a_poll_commits_what_the_poll_before_it_returned(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """The Java client commits inside poll, one batch behind: by then the batch must be finished."""
    write(bootstrap, topic, numbered(10))
    consumer = java_consumers.open(
        group_id=group,
        enable_auto_commit="true",
        auto_commit_interval_ms="1",
        max_poll_records="5",
    )
    consumer.call("assign", partitions=[(topic, 0)])

    def committed() -> int:
        (found,) = consumer.call("committed", partitions=[(topic, 0)])
        return int(found or 0)

    assert consumer.call("poll_once", timeout_ms=5000)["count"] == 5
    assert committed() == 0, "the first batch may still be in work"
    assert consumer.call("poll_once", timeout_ms=5000)["count"] == 5
    assert consumer.call("position", partitions=[(topic, 0)]) == [10]
    eventually(lambda: committed() != 0, "a commit by the second poll")
    assert committed() == 5


@pytest.mark.spec("book1:C-18", "book1:C-32", "slides:D42", "slides:D15", "book1:C-05")
def test_a_crash_redelivers_what_was_not_committed_yet(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """With a long interval a crash repeats everything, with a short one only the last moments."""
    write(bootstrap, topic, numbered(10))

    def first_after_crash(interval_ms: int, *, committed: int | None) -> int | None:
        name = f"{group}-{interval_ms}"
        settings = {"enable_auto_commit": True, "auto_commit_interval_ms": interval_ms}
        with mortal(bootstrap, name, topic, most=7, **settings) as dying:
            assert dying.take(7) == list(range(7))
            eventually(lambda: committed_of(bootstrap, name, topic) == committed, "the commit")
            dying.kill()
        heir = members.join(name, topic)
        rest = 10 - (committed or 0)
        found = heir.take(rest)
        assert values(found) == numbered(rest, start=10 - rest)
        return found[0].offset()

    assert first_after_crash(60_000, committed=None) == 0, "seven records come twice"
    assert first_after_crash(50, committed=7) == 7, "no record comes twice"


@pytest.mark.spec("slides:D19", "book1:C-20", "book1:C-23")
def test_commit_sync_of_the_position_and_of_a_map(
    bootstrap: str, java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """commitSync() stores the positions of the last poll, commitSync(map) exactly what it says."""
    topic = new_topic(partitions=2)
    for partition in range(2):
        write(bootstrap, topic, numbered(6), partition=partition)
    consumer = java_consumers.join(group, topic)
    consumer.take(12)
    both = [(topic, 0), (topic, 1)]
    assert consumer.call("committed", partitions=both) == [None, None]
    consumer.call("commit_sync")
    assert consumer.call("committed", partitions=both) == [6, 6]
    # A record is done: its offset plus one is where a successor begins.
    consumer.call("commit_sync", offsets=[(topic, 1, 2 + 1)])
    assert consumer.call("committed", partitions=both) == [6, 3]
    consumer.close()
    successor = java_consumers.join(group, topic)
    assert [each["offset"] for each in successor.take(3)] == [3, 4, 5]


@pytest.mark.spec("slides:D20", "book1:C-21", "book1:C-23")
def test_commit_async_tells_its_callback(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """The call returns before the broker has answered; a later poll calls back with the map."""
    write(bootstrap, topic, numbered(4))
    consumer = java_consumers.join(group, topic)
    consumer.take(4)
    consumer.call("events")
    consumer.call("commit_async")
    assert consumer.call("events") == [], "the answer cannot be there before the next poll"
    consumer.call("commit_async", offsets=[(topic, 0, 2)])
    told: list[list[object]] = []

    def called_back() -> bool:
        consumer.call("poll_once", timeout_ms=20)
        told.extend(consumer.call("events"))
        return len(told) == 2

    eventually(called_back, "both callbacks")
    assert told == [["committed", {f"{topic}-0": 4}, ""], ["committed", {f"{topic}-0": 2}, ""]]
    # What was asked for last counts, although it is less.
    assert committed_of(bootstrap, group, topic) == 2


@pytest.mark.spec("slides:D19", "slides:D20", "book1:C-23")
def test_librdkafka_commits_in_both_ways(
    bootstrap: str, members: Members, topic: str, group: str
) -> None:
    """A synchronous commit returns what was stored, an asynchronous one tells a callback."""
    write(bootstrap, topic, numbered(4))
    told: list[tuple[KafkaError | None, list[TopicPartition]]] = []
    member = members.new(group, on_commit=lambda error, done: told.append((error, done)))
    member.subscribe(topic)
    member.take(3)
    (stored,) = member.consumer.commit(asynchronous=False) or []
    assert (stored.offset, stored.error) == (3, None)
    assert committed_of(bootstrap, group, topic) == 3
    told.clear()
    member.consumer.commit(offsets=[TopicPartition(topic, 0, 2)], asynchronous=True)
    settled([member], lambda: bool(told), "the callback")
    ((error, (done,)),) = told
    assert (error, done.offset) == (None, 2)
    assert committed_of(bootstrap, group, topic) == 2


@pytest.mark.spec("book1:C-09", "book1:C-31")
def test_a_long_batch_commits_at_intervals(
    bootstrap: str, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """Every tenth record of one poll is committed: a stop at 37 costs seven records, not 37."""
    write(bootstrap, topic, numbered(100))
    consumer = java_consumers.join(group, topic)
    batch = consumer.take(100)
    for record in batch[:37]:
        if (record["offset"] + 1) % 10 == 0:
            consumer.call("commit_sync", offsets=[(topic, 0, record["offset"] + 1)])
    consumer.close()
    assert java_consumers.join(group, topic).take(1)[0]["offset"] == 30


@pytest.mark.spec("book1:C-22", "book1:C-28", "book1:C-30", "slides:D24")
def test_async_per_record_and_sync_on_revoke_repeats_nothing(
    bootstrap: str, members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """A member commits its last records before it loses partitions; the heir repeats none."""
    topic = new_topic(partitions=2)
    done: list[tuple[int | None, int | None]] = []

    def finish(consumer: Consumer) -> None:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as fault:
            if fault.args[0].code() != KafkaError._NO_OFFSET:  # nothing new since the last commit
                raise

    for partition in range(2):
        write(bootstrap, topic, numbered(40), partition=partition)
    first = members.new(group)
    first.subscribe(topic, on_revoke=finish)
    for message in first.take(50):
        done.append((message.partition(), message.offset()))
        first.consumer.commit(message=message, asynchronous=True)
    first.messages.clear()
    second = members.join(group, topic)
    both = [first, second]
    shared_out(both, 1, 1)
    assert [name for name, _ in first.events][:2] == ["assigned", "revoked"]
    done += [(each.partition(), each.offset()) for each in read_all(both, 30)]
    assert sorted(done) == [(partition, offset) for partition in (0, 1) for offset in range(40)]


@pytest.mark.spec("book1:C-37")
def test_close_in_finally_leaves_although_the_last_commit_fails(
    bootstrap: str, connection: Connection, members: Members, topic: str, group: str
) -> None:
    """A final commit that is refused does not keep the member from leaving."""
    write(bootstrap, topic, numbered(1))
    member = members.join(group, topic)
    member.take(1)

    def work() -> None:
        try:
            too_long = TopicPartition(topic, 0, 1, "m" * 5000)
            member.consumer.commit(offsets=[too_long], asynchronous=False)
        finally:
            member.close()

    with pytest.raises(KafkaException) as refused:
        work()
    assert refused.value.args[0].code() == KafkaError.OFFSET_METADATA_TOO_LARGE
    found = described(connection, group)
    assert (found.group_state, found.members) == ("Empty", [])


@pytest.mark.spec("slides:D21", "book1:C-20", "slides:D30", "admin:CO-17")
def test_a_member_that_was_removed_cannot_commit(
    bootstrap: str,
    connection: Connection,
    java_consumers: OpenedConsumers,
    topic: str,
    group: str,
) -> None:
    """Too long between polls, so out of the group: commitSync raises CommitFailedException."""
    write(bootstrap, topic, numbered(3))
    consumer = java_consumers.join(group, topic, max_poll_interval_ms="300")
    consumer.take(3)
    eventually(lambda: not described(connection, group).members, "its end as a member")
    assert "CommitFailedException" in consumer.refusal("commit_sync")
    assert committed_of(bootstrap, group, topic) is None


@pytest.mark.spec("slides:D45")
def test_reading_leaves_no_trace_and_a_commit_one_record(
    bootstrap: str, connection: Connection, members: Members, topic: str, group: str
) -> None:
    """The broker keeps no state per message: 500 records read are one number once committed."""
    write(bootstrap, topic, numbered(500))
    member = members.new(group)
    member.consumer.assign([TopicPartition(topic, 0, 0)])
    assert committed_of(bootstrap, group, topic) is None  # makes __consumer_offsets
    (found,) = connection.ask(metadata_request("__consumer_offsets"), METADATA_VERSION).topics
    home = partition_for(group, len(found.partitions))

    def end() -> int:
        return int(offset_at(connection, "__consumer_offsets", LATEST, partition=home).offset)

    before = end()
    assert offsets(member.take(500)) == list(range(500))
    assert end() == before
    member.consumer.commit(asynchronous=False)
    assert end() == before + 1


@pytest.mark.spec("slides:D44")
def test_one_consumer_many_workers(
    bootstrap: str, members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """Workers finish out of order; committed is only what is finished without a gap below it."""
    topic = new_topic(partitions=2)
    for partition in range(2):
        write(bootstrap, topic, numbered(6), partition=partition)
    member = members.join(group, topic)
    queues: dict[int, list[int]] = {0: [], 1: []}
    for message in member.take(12):
        queues[message.partition() or 0].append(message.offset() or 0)
    assert queues == {0: list(range(6)), 1: list(range(6))}
    finished: dict[int, set[int]] = {0: set(), 1: set()}
    contiguous = {0: 0, 1: 0}
    for partition, offset in [(0, 1), (1, 0), (0, 0), (0, 3), (1, 2), (0, 4)]:
        finished[partition].add(offset)
        while contiguous[partition] in finished[partition]:
            contiguous[partition] += 1
        wanted = [TopicPartition(topic, each, place) for each, place in contiguous.items() if place]
        if wanted:
            member.consumer.commit(offsets=wanted, asynchronous=False)
    assert [committed_of(bootstrap, group, topic, each) for each in (0, 1)] == [2, 1]
    member.close()
    heir = members.join(group, topic)
    again = sorted((each.partition(), each.offset()) for each in heir.take(9))
    assert again == [(0, offset) for offset in range(2, 6)] + [(1, each) for each in range(1, 6)]


@pytest.mark.spec("book1:C-26", "slides:D32", "admin:CO-15")
def test_slow_work_between_polls_does_not_end_the_session(
    connection: Connection, java_consumers: OpenedConsumers, topic: str, group: str
) -> None:
    """Heartbeats go on in the background: only max.poll.interval.ms limits the work."""
    session_ms = 1000
    consumer = java_consumers.join(group, topic, session_timeout_ms=str(session_ms))
    java_consumers.poll([consumer], partitions=[1])
    (member,) = described(connection, group).members
    end = time.monotonic() + 2 * session_ms / 1000
    while time.monotonic() < end:
        (still,) = described(connection, group).members
        assert still.member_id == member.member_id
    keys = ["heartbeat.interval.ms", "session.timeout.ms", "max.poll.interval.ms"]
    defaults = java_consumers.program.call("defaults", keys=keys)
    assert [int(defaults[key]) for key in keys] == [3_000, 45_000, 300_000]
