"""Static members keep what they have over a restart, also while they move data (KIP-345)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Producer, TopicPartition

from tests.clients.consumer.application import (
    TIMEOUT_SECONDS,
    Member,
    Members,
    numbered,
    read_all,
    shared_out,
    values,
    write,
)
from tests.clients.groups.raw_members import described, described_consumer
from tests.clients.raw import Connection

both_protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@both_protocols
def test_a_static_member_that_restarts_disturbs_nobody(
    members: Members, new_topic: Callable[..., str], group: str, protocol: str
) -> None:
    """The same instance inside its session gets the same partitions; the other sees nothing."""
    topic = new_topic(partitions=4)

    def join(name: str) -> Member:
        return members.join(group, topic, group_protocol=protocol, group_instance_id=name)

    restarted, steady = join("a"), join("b")
    shared_out([restarted, steady], 2, 2)
    had = restarted.partitions
    steady.events.clear()
    restarted.close()
    again = join("a")
    shared_out([steady, again], 2, 2)
    assert again.partitions == had
    assert steady.events == []


@both_protocols
def test_two_with_the_same_instance_cannot_both_stay(
    connection: Connection, members: Members, topic: str, group: str, protocol: str
) -> None:
    """The group never has two members of one instance; one of the clients is told so."""
    first = members.join(group, topic, group_protocol=protocol, group_instance_id="twin")
    shared_out([first], 1)
    second = members.join(group, topic, group_protocol=protocol, group_instance_id="twin")

    def told() -> bool:
        return bool(first.faults or second.faults)

    for _ in range(500):
        if told():
            break
        first.poll()
        second.poll()
    assert told(), "neither was refused"
    show = described if protocol == "classic" else described_consumer
    assert len(show(connection, group).members) == 1


@both_protocols
def test_a_chain_goes_on_where_its_restarted_member_was(
    bootstrap: str,
    members: Members,
    new_topic: Callable[..., str],
    group: str,
    protocol: str,
) -> None:
    """Consume, transform, produce in transactions: every input becomes one output."""
    source, target = new_topic(partitions=2), new_topic()
    for partition in range(2):
        write(bootstrap, source, numbered(20, start=100 * partition), partition=partition)

    def run(name: str, most: int) -> Member:
        """Move some records, one transaction each, and stop without a word."""
        member = members.join(group, source, group_protocol=protocol, group_instance_id=name)
        producer = Producer(
            {"bootstrap.servers": bootstrap, "log_level": 0, "transactional.id": f"{group}-{name}"}
        )
        producer.init_transactions(TIMEOUT_SECONDS)
        for message in member.take(most):
            producer.begin_transaction()
            producer.produce(target, b"out-" + (message.value() or b""), partition=0)
            place = TopicPartition(source, message.partition() or 0, (message.offset() or 0) + 1)
            metadata = member.consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction([place], metadata, TIMEOUT_SECONDS)
            producer.commit_transaction(TIMEOUT_SECONDS)
        return member

    first = run("a", 15)
    had = first.partitions
    first.close()
    second = run("a", 25)
    assert second.partitions == had
    reader = members.new(f"{group}-reader", isolation_level="read_committed")
    reader.subscribe(target)
    wanted = [b"out-" + value for start in (0, 100) for value in numbered(20, start=start)]
    assert sorted(values(read_all([reader], 40))) == sorted(wanted)
