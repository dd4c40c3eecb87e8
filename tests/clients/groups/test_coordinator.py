"""The coordinator of a group: which broker it is, and where it keeps what it knows."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.coordinator.group.records import GroupMetadataKey, OffsetCommitKey, decode_record
from headrace.coordinator.partitioner import partition_for
from headrace.errors import Error
from headrace.records.batch import split_batches
from headrace.records.record import iterate
from headrace.testing import Broker
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.clients.configs import Resource, configs_of
from tests.clients.consumer.application import Members, numbered, shared_out, write
from tests.clients.drivers.java_consumer import OpenedConsumers
from tests.clients.groups.raw_members import commit, described, stable_alone
from tests.clients.raw import Connection
from tests.clients.requests import (
    EARLIEST,
    LATEST,
    METADATA_VERSION,
    fetched,
    metadata_request,
    offset_at,
)

OFFSETS = "__consumer_offsets"


@pytest.mark.spec("slides:D11", "admin:CO-14", "book1:C-04")
def test_one_broker_coordinates_a_group(
    bootstrap: str,
    connection: Connection,
    members: Members,
    java_consumers: OpenedConsumers,
    topic: str,
    group: str,
) -> None:
    """Whoever asks is told the same broker; it knows the members, and what they committed."""
    member = members.join(group, topic)
    shared_out([member], 1)
    write(bootstrap, topic, numbered(3))
    member.take(3)
    member.consumer.commit(asynchronous=False)
    (found,) = connection.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4).coordinators
    assert found.error_code == Error.NONE
    assert f"{found.host}:{found.port}" == bootstrap
    with Connection(f"{found.host}:{found.port}") as coordinator:
        shown = described(coordinator, group)
    assert (shown.group_state, len(shown.members)) == ("Stable", 1)
    told = java_consumers.program.call("describe_groups", groups=[group])[group]
    assert told["coordinator"] == found.node_id
    assert told["members"] == [{"partitions": [[topic, 0]], "instance": ""}]
    assert member.committed(topic) == 3


@pytest.mark.spec("admin:CO-04", "slides:D13")
def test_the_offsets_topic_is_made_when_it_is_needed() -> None:
    """50 partitions, compacted, three replicas where there are brokers; not before a group asks."""
    quick = {"group.initial.rebalance.delay.ms": 0}
    with Broker(quick) as broker, Connection(broker.bootstrap_servers) as connection:

        def offsets_topic() -> list[int]:
            topics = connection.ask(metadata_request(OFFSETS), METADATA_VERSION).topics
            return [len(each.partitions) for each in topics if each.error_code == Error.NONE]

        assert offsets_topic() == []
        members = Members(broker.bootstrap_servers)
        write(broker.bootstrap_servers, "first", [b"record"])
        assert offsets_topic() == []
        members.join("any", "first").take(1)
        members.close()
        assert offsets_topic() == [50]
        assert configs_of(connection, OFFSETS)["cleanup.policy"].value == "compact"
        (node,) = connection.ask(metadata_request(), METADATA_VERSION).brokers
        own = configs_of(connection, str(node.node_id), kind=Resource.BROKER)
        assert own["offsets.topic.num.partitions"].value == "50"
        assert own["offsets.topic.replication.factor"].value == "3"


def kept_of(connection: Connection, group: str) -> list[tuple[Any, Any]]:
    """Keys and values that the partition of a group holds, oldest first, without markers."""
    (found,) = connection.ask(metadata_request(OFFSETS), METADATA_VERSION).topics
    home = partition_for(group, len(found.partitions))
    place, end = (
        int(offset_at(connection, OFFSETS, which, partition=home).offset)
        for which in (EARLIEST, LATEST)
    )
    kept: list[tuple[Any, Any]] = []
    while place < end:
        part = fetched(connection, OFFSETS, place, partition=home).records
        assert part, f"nothing can be read at {place}"
        for header, batch in split_batches(part, allow_partial_tail=True):
            place = header.next_offset
            for record in () if header.is_control else iterate(header, batch):
                decoded = decode_record(record.key, record.value)
                kept += [] if decoded is None else [(decoded.key, decoded.value)]
    return kept


@pytest.mark.spec("slides:D13", "slides:D14", "admin:CO-02")
def test_what_a_group_leaves_in_the_offsets_topic(
    connection: Connection, topic: str, group: str
) -> None:
    """One key per group, topic and partition, whose last value is the committed offset."""
    member = stable_alone(connection, group)
    who = {"member_id": member.member_id, "generation_id_or_member_epoch": member.generation_id}
    for offset in (3, 9, 7):
        error = commit(connection, group, topic, offset, metadata=f"at {offset}", **who)
        assert error == Error.NONE
    kept = kept_of(connection, group)
    place = OffsetCommitKey(group=group, topic=topic, partition=0)
    found = [(value.offset, value.metadata) for key, value in kept if key == place]
    assert found == [(3, "at 3"), (9, "at 9"), (7, "at 7")]
    *_, last = (value for key, value in kept if key == GroupMetadataKey(group=group))
    assert [each.member_id for each in last.members] == [member.member_id]
    assert (last.generation, last.protocol) == (member.generation_id, "range")
