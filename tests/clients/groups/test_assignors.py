"""Who gets which partitions: the assignors of the clients, and those of the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import TopicPartition

from tests.clients.consumer.application import (
    TIMEOUT_SECONDS,
    Members,
    committed_of,
    numbered,
    offsets,
    settled,
    shared_out,
    write,
)
from tests.clients.drivers.java_consumer import JavaConsumer, OpenedConsumers
from tests.clients.drivers.librdkafka import Librdkafka
from tests.clients.groups.raw_members import described, described_consumer
from tests.clients.raw import Connection

PACKAGE = "org.apache.kafka.clients.consumer."
THIRTEEN_BY_THREE = [[0, 1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]
Pairs = list[list[object]]


def assignments(consumers: Sequence[JavaConsumer]) -> list[Pairs]:
    return [each.call("assignment") for each in consumers]


def of_topic(pairs: Pairs, topic: str) -> list[object]:
    return [number for name, number in pairs if name == topic]


@pytest.mark.spec("slides:D06", "admin:CO-08")
def test_range_is_the_default_and_gives_the_first_the_rest(
    java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """13 partitions for three members are 0-4, 5-8 and 9-12; equal topics are cut alike."""
    topics = [new_topic(partitions=13) for _ in range(2)]
    three = [java_consumers.join(group, *topics) for _ in range(3)]
    java_consumers.poll(three, partitions=[10, 8, 8])
    for pairs in assignments(three):
        assert of_topic(pairs, topics[0]) == of_topic(pairs, topics[1])
    cut = sorted((of_topic(pairs, topics[0]) for pairs in assignments(three)), key=str)
    assert cut == sorted(THIRTEEN_BY_THREE, key=str)


@pytest.mark.spec("slides:D06", "admin:CO-08")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_range_of_librdkafka_and_of_the_coordinator(
    members: Members, new_topic: Callable[..., str], group: str, protocol: str
) -> None:
    """The same cut, whether a member makes it or the coordinator (KIP-848)."""
    topic = new_topic(partitions=13)
    settings = {"group_remote_assignor": "range"} if protocol == "consumer" else {}
    three = [members.join(group, topic, group_protocol=protocol, **settings) for _ in range(3)]
    shared_out(three, 5, 4, 4)
    assert sorted(member.numbers for member in three) == THIRTEEN_BY_THREE


@pytest.mark.spec("book1:B-20")
def test_more_partitions_give_work_to_more_members(
    members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """One partition has one reader however many there are; three have three, and three writers."""
    narrow, wide = new_topic(), new_topic(partitions=3)
    alone = [members.join(f"{group}-narrow", narrow) for _ in range(3)]
    shared_out(alone, 1, 0, 0)
    three = [members.join(group, wide) for _ in range(3)]
    shared_out(three, 1, 1, 1)
    # Three producers, each with a partition of its own, at the same time.
    with ThreadPoolExecutor(3) as writers:
        for written in [
            writers.submit(write, members.bootstrap, wide, numbered(100), partition=number)
            for number in range(3)
        ]:
            written.result(TIMEOUT_SECONDS)
    settled(three, lambda: all(len(member.messages) == 100 for member in three), "100 for each")
    assert all(offsets(member.messages) == list(range(100)) for member in three)


@pytest.mark.spec("admin:CO-09", "slides:D07")
def test_round_robin_deals_one_partition_at_a_time_over_all_topics(
    java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """Two topics of three partitions: range would give 4 and 2, dealing gives 3 and 3."""
    topics = sorted(new_topic(partitions=3) for _ in range(2))
    strategy = PACKAGE + "RoundRobinAssignor"
    pair = [
        java_consumers.join(group, *topics, partition_assignment_strategy=strategy)
        for _ in range(2)
    ]
    java_consumers.poll(pair, partitions=[3, 3])
    dealt = [[topic, number] for topic in topics for number in range(3)]
    assert sorted(assignments(pair), key=str) == sorted([dealt[0::2], dealt[1::2]], key=str)


@pytest.mark.spec("admin:CO-09", "slides:D07")
def test_round_robin_of_librdkafka(
    connection: Connection, members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """The strategy is the members' choice; the group shows which one it is."""
    topics = sorted(new_topic(partitions=3) for _ in range(2))
    strategy = {"partition_assignment_strategy": "roundrobin"}
    pair = [members.join(group, *topics, **strategy) for _ in range(2)]
    shared_out(pair, 3, 3)
    dealt = [(topic, number) for topic in topics for number in range(3)]
    assert sorted(member.partitions for member in pair) == sorted([dealt[0::2], dealt[1::2]])
    assert described(connection, group).protocol_data == "roundrobin"


@pytest.mark.spec("admin:CO-10")
def test_sticky_keeps_what_a_member_had(
    java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """When one of three goes, each survivor keeps its two and gets one, although all stopped."""
    topic = new_topic(partitions=6)
    strategy = PACKAGE + "StickyAssignor"
    three = [
        java_consumers.join(group, topic, partition_assignment_strategy=strategy) for _ in range(3)
    ]
    java_consumers.poll(three, partitions=[2, 2, 2])
    before = assignments(three)
    for each in three:
        each.call("events")
    three[1].close()
    survivors = [three[0], three[2]]
    java_consumers.poll(survivors, partitions=[3, 3])
    for each, kept in zip(survivors, (before[0], before[2]), strict=True):
        assert [pair for pair in each.call("assignment") if pair in kept] == kept
        assert ["revoked", kept] in each.call("events")


@pytest.mark.spec("admin:PF-11")
@pytest.mark.spec("admin:CO-11")
def test_cooperative_members_stop_only_what_moves(
    java_consumers: OpenedConsumers, new_topic: Callable[..., str], group: str
) -> None:
    """The first member never gives up the partitions that it keeps (KIP-429)."""
    topic = new_topic(partitions=4)
    strategy = PACKAGE + "CooperativeStickyAssignor"
    first = java_consumers.join(group, topic, partition_assignment_strategy=strategy)
    java_consumers.poll([first], partitions=[4])
    assert [each[0] for each in first.call("events")] == ["assigned"]
    second = java_consumers.join(group, topic, partition_assignment_strategy=strategy)
    java_consumers.poll([first, second], partitions=[2, 2])
    kept, moved = assignments([first, second])
    revoked = [pairs for what, pairs in first.call("events") if what == "revoked"]
    assert revoked == [moved]
    assert sorted(kept + moved) == [[topic, number] for number in range(4)]


@pytest.mark.spec("admin:CO-11", "admin:CO-10")
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_librdkafka_goes_on_reading_what_it_keeps(
    members: Members, new_topic: Callable[..., str], group: str, protocol: str
) -> None:
    """Incremental in both protocols: cooperative-sticky, and the coordinator's uniform."""
    topic = new_topic(partitions=4)
    settings = {"group_protocol": protocol}
    if protocol == "classic":
        settings["partition_assignment_strategy"] = "cooperative-sticky"
    first = members.join(group, topic, **settings)
    shared_out([first], 4)
    pair = [first, members.join(group, topic, **settings)]
    shared_out(pair, 2, 2)
    settled(pair, lambda: len(pair[1].partitions) == 2, "the second's share")
    gone = [each for what, pairs in first.events if what == "revoked" for each in pairs]
    assert sorted(gone) == pair[1].partitions


def test_the_coordinator_assigns_uniformly(
    connection: Connection, members: Members, new_topic: Callable[..., str], group: str
) -> None:
    """uniform is the first of group.consumer.assignors, so the default (KIP-848)."""
    topic = new_topic(partitions=7)
    three = [members.join(group, topic, group_protocol="consumer") for _ in range(3)]
    shared_out(three, 3, 2, 2)
    assert sorted(number for member in three for number in member.numbers) == list(range(7))
    assert described_consumer(connection, group).assignor_name == "uniform"


@pytest.mark.spec("admin:CO-28", "admin:CO-02", "slides:D14")
def test_two_groups_on_three_partitions(
    bootstrap: str,
    connection: Connection,
    members: Members,
    librdkafka: Librdkafka,
    new_topic: Callable[..., str],
    group: str,
) -> None:
    """Last offsets 12, 15, 20; three members and two; six offsets; a death moves one partition."""
    topic = new_topic(partitions=3)
    ends = [13, 16, 21]
    for partition, end in enumerate(ends):
        write(bootstrap, topic, numbered(end), partition=partition)
    zero, one = f"{group}-0", f"{group}-1"
    three = [members.join(zero, topic) for _ in range(3)]
    two = [members.join(one, topic) for _ in range(2)]
    shared_out(three, 1, 1, 1)
    shared_out(two, 2, 1)
    assert sorted(member.numbers for member in two) == [[0, 1], [2]]
    # Six offsets, each anywhere from the first record to the end.
    for name, places in ((zero, [0, 5, 21]), (one, [13, 16, 7])):
        owners = three if name == zero else two
        for owner in owners:
            owner.consumer.commit(
                offsets=[TopicPartition(topic, each, places[each]) for each in owner.numbers],
                asynchronous=False,
            )
        found = [committed_of(bootstrap, name, topic, partition) for partition in range(3)]
        assert found == places
    dead = next(member for member in three if member.numbers == [1])
    before = [list(member.events) for member in two]
    survivors = [member for member in three if member is not dead]
    for member in survivors:
        member.messages.clear()
    dead.close()
    shared_out(survivors, 2, 1)
    heir = next(member for member in survivors if 1 in member.numbers)
    # A batch of k from the committed x on is x to x + k - 1.
    settled(
        [heir],
        lambda: sum(each.partition() == 1 for each in heir.messages) >= 4,
        "records of the partition that moved",
    )
    batch = [each for each in heir.messages if each.partition() == 1][:4]
    assert offsets(batch) == [5, 6, 7, 8]
    assert [list(member.events) for member in two] == before
    assert described(connection, one).group_state == "Stable"
    librdkafka.create_partitions(topic, 4)
    shared_out(two, 2, 2)
