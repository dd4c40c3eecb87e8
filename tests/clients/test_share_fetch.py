"""ShareFetch: records are acquired by one member at a time, and waited for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from headrace.errors import Error
from headrace.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.clients.raw import Connection, batch_headers
from tests.clients.records import numbered_records
from tests.clients.requests import TIMEOUT_MS, delete_topic, produced
from tests.clients.share.raw_queue import ACCEPT, REJECT, RELEASE, RENEW, Queue, RawMember, acquired

LOCK_MS = 1000
RENEWED_LOCK_MS = 3000  # a machine that halts for a second does not let it go

NewMember = Callable[[Queue], RawMember]


@pytest.fixture
def queue(connection: Connection, topic: str, group: str) -> Queue:
    return Queue(connection, topic, group)


@pytest.fixture
def new_member(bootstrap: str) -> Iterator[NewMember]:
    made: list[RawMember] = []

    def make(queue: Queue) -> RawMember:
        made.append(RawMember(bootstrap, queue))
        return made[-1]

    yield make
    for each in made:
        each.close()


def first_fetch(member: RawMember, **options: Any) -> list[tuple[int, int, int]]:
    """Open the session; the state may still be on its way to the leader, so wait for it."""
    return member.fetch(wait_ms=5000, **options)


def test_a_record_has_one_holder(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """What one member got nobody else gets, until it is released, and then with a count of 2."""
    produced(connection, topic, numbered_records(10))
    one, two = new_member(queue), new_member(queue)
    assert first_fetch(one) == [(0, 9, 1)]
    assert two.fetch() == []
    assert one.fetch((0, 4, [ACCEPT]), (5, 5, [REJECT]), (6, 9, [RELEASE]), records=1) == [
        (6, 9, 2)
    ]
    assert queue.done() == 6


def test_records_come_as_whole_batches_of_the_log(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """The bytes are those of the batches that have the acquired records, and of no others."""
    for _ in range(3):
        produced(connection, topic, numbered_records(4))
    member = new_member(queue)
    response = member.ask(wait_ms=5000, records=5)
    ((part,),) = [each.partitions for each in response.responses]
    assert acquired(response) == [(0, 7, 1)]
    assert [header.base_offset for header in batch_headers(part.records)] == [0, 4]
    assert response.acquisition_lock_timeout_ms == 30_000


def test_no_more_than_was_asked_for(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """KIP-1206: in record-limit mode a batch is shared between members."""
    produced(connection, topic, numbered_records(10))
    one, two = new_member(queue), new_member(queue)
    assert first_fetch(one, records=3, strict=True) == [(0, 2, 1)]
    assert two.fetch(records=500) == [(3, 9, 1)]


def test_a_fetch_waits_for_records(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """It is answered by the append, long before its time is over."""
    member = new_member(queue)
    member.fetch()
    sent = member.send_fetch(wait_ms=20_000)
    produced(connection, topic, numbered_records(2))
    assert acquired(member.answer(sent)) == [(0, 1, 1)]


def test_a_fetch_waits_for_a_release(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """Of another member, by its word or by the end of its connection."""
    produced(connection, topic, numbered_records(2))
    one, two, three = (new_member(queue) for _ in range(3))
    assert first_fetch(one) == [(0, 1, 1)]
    sent = two.send_fetch(wait_ms=20_000)
    assert one.acknowledge((0, 1, [RELEASE])) == Error.NONE
    assert acquired(two.answer(sent)) == [(0, 1, 2)]
    sent = three.send_fetch(wait_ms=20_000)
    two.close()
    assert acquired(three.answer(sent)) == [(0, 1, 3)]


def test_a_fetch_waits_for_a_lock_to_expire(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """After `share.record.lock.duration.ms` the record is another one's, and the first too late."""
    queue.configure(share_record_lock_duration_ms=str(LOCK_MS))
    produced(connection, topic, numbered_records(2))
    one, two = new_member(queue), new_member(queue)
    began = time.monotonic()
    assert first_fetch(one) == [(0, 1, 1)]
    assert two.fetch(wait_ms=20_000) == [(0, 1, 2)]
    assert time.monotonic() - began > LOCK_MS / 1000 * 0.99  # clocks count in milliseconds
    assert one.acknowledge((0, 1, [ACCEPT])) == Error.INVALID_RECORD_STATE
    assert two.acknowledge((0, 1, [ACCEPT])) == Error.NONE


def test_a_lock_is_renewed(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """KIP-1222: whoever needs longer says so, in requests that ask for nothing else."""
    queue.configure(share_record_lock_duration_ms=str(RENEWED_LOCK_MS))
    produced(connection, topic, numbered_records(2))
    one, two = new_member(queue), new_member(queue)
    assert first_fetch(one) == [(0, 1, 1)]
    two.fetch()
    sent = two.send_fetch(wait_ms=20_000)
    for _ in range(3):
        time.sleep(RENEWED_LOCK_MS / 2500)
        assert one.fetch((0, 1, [RENEW]), renews=True) == []
    assert one.acknowledge((0, 0, [RENEW]), renews=True) == Error.NONE
    assert one.acknowledge((0, 1, [ACCEPT])) == Error.NONE
    produced(connection, topic, numbered_records(1))
    assert acquired(two.answer(sent)) == [(2, 2, 1)]


def test_a_renewal_reads_nothing(queue: Queue, new_member: NewMember) -> None:
    """A request that renews and asks for records makes no sense."""
    member = new_member(queue)
    request = member.fetch_request(renews=True)
    request.max_records = 1
    assert member.connection.ask(request, 2).error_code == Error.INVALID_REQUEST


def test_a_record_is_given_up_at_its_limit(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """`share.delivery.count.limit` deliveries, then it is archived and the start passes it."""
    queue.configure(share_delivery_count_limit="2")
    produced(connection, topic, numbered_records(1))
    member = new_member(queue)
    assert first_fetch(member) == [(0, 0, 1)]
    assert member.fetch((0, 0, [RELEASE])) == [(0, 0, 2)]
    assert member.fetch((0, 0, [RELEASE])) == []
    assert queue.done() == 1


def test_sessions(queue: Queue, new_member: NewMember) -> None:
    """Epochs are counted; a session that is unknown or closed must be opened first."""
    member = new_member(queue)
    assert member.ask(epoch=1).error_code == Error.SHARE_SESSION_NOT_FOUND
    assert member.ask(epoch=-1).error_code == Error.SHARE_SESSION_NOT_FOUND
    assert member.ask(epoch=0).error_code == Error.NONE
    assert member.ask(epoch=2).error_code == Error.INVALID_SHARE_SESSION_EPOCH
    assert member.ask(epoch=1).error_code == Error.NONE
    assert member.ask(epoch=0).error_code == Error.NONE, "a member may begin again at any time"
    assert member.ask((0, 0, [ACCEPT]), epoch=0).error_code == Error.INVALID_REQUEST
    assert member.ask(epoch=-1).error_code == Error.NONE
    assert member.ask(epoch=1).error_code == Error.SHARE_SESSION_NOT_FOUND


def test_a_closed_session_leaves_its_records(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """What it accepts with its last request is done, the rest is free."""
    produced(connection, topic, numbered_records(4))
    one, two = new_member(queue), new_member(queue)
    assert first_fetch(one) == [(0, 3, 1)]
    assert one.ask((0, 1, [ACCEPT]), epoch=-1).error_code == Error.NONE
    assert two.fetch(wait_ms=5000) == [(2, 3, 2)]


def test_a_forgotten_partition_is_read_no_more(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """It leaves the session; what was acquired of it can still be acknowledged."""
    produced(connection, topic, numbered_records(1))
    member = new_member(queue)
    assert first_fetch(member) == [(0, 0, 1)]
    produced(connection, topic, numbered_records(1))
    assert member.fetch((0, 0, [ACCEPT]), forget=True) == []
    assert queue.done() == 1


def test_topics_that_do_not_exist(queue: Queue, new_member: NewMember) -> None:
    """The partition has an error, and nobody waits."""
    member = new_member(queue)
    queue.topic_id = UUID(int=7)
    response = member.ask(wait_ms=20_000)
    assert response.responses[0].partitions[0].error_code == Error.UNKNOWN_TOPIC_ID


def test_a_topic_is_deleted_under_a_waiting_fetch(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """It is told at once."""
    member = new_member(queue)
    member.fetch()
    sent = member.send_fetch(wait_ms=20_000)
    delete_topic(connection, topic)
    response = member.answer(sent)
    assert response.responses[0].partitions[0].error_code == Error.UNKNOWN_TOPIC_ID


def test_deleted_records_are_done(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """The start of the log moves past records that are held: their holder is not blamed."""
    for _ in range(2):
        produced(connection, topic, numbered_records(5))
    member = new_member(queue)
    assert first_fetch(member) == [(0, 9, 1)]
    wanted = DeleteRecordsPartition(partition_index=0, offset=7)
    topics = [DeleteRecordsTopic(name=topic, partitions=[wanted])]
    connection.ask(DeleteRecordsRequest(topics=topics, timeout_ms=TIMEOUT_MS), 2)
    assert member.acknowledge((0, 8, [ACCEPT])) == Error.NONE
    assert queue.done() == 9


def test_only_so_many_records_are_locked(
    connection: Connection, topic: str, queue: Queue, new_member: NewMember
) -> None:
    """`share.partition.max.record.locks` in flight, and the next fetch waits for one to end."""
    queue.configure(share_partition_max_record_locks="100")
    for _ in range(3):
        produced(connection, topic, numbered_records(60))
    one, two = new_member(queue), new_member(queue)
    assert first_fetch(one) == [(0, 119, 1)]
    two.fetch()
    sent = two.send_fetch(wait_ms=20_000)
    assert one.acknowledge((0, 59, [ACCEPT])) == Error.NONE
    assert acquired(two.answer(sent)) == [(120, 179, 1)]
