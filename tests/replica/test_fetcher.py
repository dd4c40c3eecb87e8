"""A follower's conversation with its leader: sessions, pauses, and answers of every kind."""

from __future__ import annotations

from uuid import UUID

import pytest

from headrace.errors import Error
from headrace.log import LogConfig, PartitionLog
from headrace.records.builder import BatchBuilder
from headrace.replica import Leadership, Partition, ReplicaFetcher
from headrace.testing import MemoryDisk
from headrace.types import TopicPartition
from headrace.wire import decode, encode_bytes
from headrace.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tests.replica.cluster import START_MS, batch
from tests.settings import log_config

A = TopicPartition("a", 0)
B = TopicPartition("b", 0)
IDS = {"a": UUID(int=10), "b": UUID(int=11)}
LEADER = 1
FOLLOWER = 2


def follower(
    name: TopicPartition = A, *, epoch: int = 0, config: LogConfig | None = None
) -> Partition:
    disk = MemoryDisk(folders=["/data"])
    topic_id = IDS[name.topic]
    log = PartitionLog.create(
        disk, f"/data/{name}", name, topic_id, config or log_config(), START_MS
    )
    partition = Partition(name, topic_id, log, broker_id=FOLLOWER)
    partition.follow(Leadership(LEADER, epoch, epoch, (LEADER, FOLLOWER), (LEADER, FOLLOWER)))
    return partition


def fetcher(*partitions: Partition) -> ReplicaFetcher:
    made = ReplicaFetcher(
        broker_id=FOLLOWER,
        broker_epoch=77,
        leader_id=LEADER,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=10_000,
        partition_max_bytes=1_000,
        backoff_ms=1_000,
    )
    for partition in partitions:
        made.add(partition)
    return made


def leaders_batch(offset: int, *, epoch: int = 0, value: str = "x") -> bytes:
    return bytes(batch(value, base_offset=offset, leader_epoch=epoch))


def data(error: Error = Error.NONE, **fields: object) -> PartitionData:
    values = {"high_watermark": 0, "log_start_offset": 0, "records": None} | fields
    return PartitionData(partition_index=0, error_code=error, **values)  # type: ignore[arg-type]


def response(session_id: int = 5, **answers: PartitionData) -> FetchResponse:
    topics = [
        FetchableTopicResponse(topic_id=IDS.get(topic, UUID(int=99)), partitions=[answer])
        for topic, answer in answers.items()
    ]
    return FetchResponse(session_id=session_id, responses=topics)


def asked(request: FetchRequest | None) -> dict[UUID, tuple[int, int, int]]:
    """Offset, last epoch and leader epoch by topic."""
    assert request is not None
    return {
        topic.topic_id: (
            topic.partitions[0].fetch_offset,
            topic.partitions[0].last_fetched_epoch,
            topic.partitions[0].current_leader_epoch,
        )
        for topic in request.topics
    }


@pytest.mark.parametrize("version", [15, 16, 17, 18])
def test_a_request_says_who_asks_and_from_where(version: int) -> None:
    """Replica state, topic ids, positions and epochs survive the wire."""
    request = fetcher(follower(epoch=4)).next_request(START_MS)
    assert request is not None
    sent = decode(FetchRequest, version, encode_bytes(request, version))
    assert sent.replica_state is not None
    assert (sent.replica_state.replica_id, sent.replica_state.replica_epoch) == (FOLLOWER, 77)
    assert (sent.session_id, sent.session_epoch) == (0, 0)
    assert (sent.max_wait_ms, sent.min_bytes, sent.max_bytes) == (500, 1, 10_000)
    assert asked(sent) == {IDS["a"]: (0, -1, 4)}
    assert sent.topics[0].partitions[0].partition_max_bytes == 1_000


def test_a_session_says_only_what_has_changed() -> None:
    """KIP-227: a partition that moved is named, one without news is not, one that left is."""
    a, b = follower(A), follower(B)
    conversation = fetcher(a, b)
    assert set(asked(conversation.next_request(START_MS))) == {IDS["a"], IDS["b"]}
    records = memoryview(leaders_batch(0))
    conversation.on_response(response(a=data(records=records), b=data()), START_MS)
    request = conversation.next_request(START_MS)
    assert request is not None
    assert (request.session_id, request.session_epoch) == (5, 1)
    assert asked(request) == {IDS["a"]: (1, 0, 0)}
    conversation.on_response(response(), START_MS)
    conversation.remove(B)
    request = conversation.next_request(START_MS)
    assert request is not None
    assert request.session_epoch == 2
    assert not request.topics
    assert [(each.topic_id, each.partitions) for each in request.forgotten_topics_data] == [
        (IDS["b"], [0])
    ]


@pytest.mark.parametrize(
    "error",
    [
        Error.FETCH_SESSION_ID_NOT_FOUND,
        Error.INVALID_FETCH_SESSION_EPOCH,
        Error.FETCH_SESSION_TOPIC_ID_ERROR,
    ],
)
def test_a_lost_session_begins_anew_at_once_but_not_for_ever(error: Error) -> None:
    """The first refusal is repaired by a full request, the second one in a row after a pause."""
    conversation = fetcher(follower())
    conversation.next_request(START_MS)
    refused = FetchResponse(error_code=error, responses=[])
    assert conversation.on_response(refused, START_MS).error == error
    request = conversation.next_request(START_MS)
    assert request is not None
    assert (request.session_id, request.session_epoch) == (0, 0)
    conversation.on_response(refused, START_MS)
    assert conversation.next_request(START_MS) is None
    assert conversation.retry_at_ms(START_MS) == START_MS + 1_000
    assert conversation.next_request(START_MS + 1_000) is not None


def test_a_leader_without_room_for_sessions_is_asked_for_everything_each_time() -> None:
    """Session id 0 means that none was kept, and a closed one begins anew."""
    conversation = fetcher(follower())
    for session_id, expected in ((0, (0, 0)), (9, (0, 0)), (9, (9, 1)), (0, (9, 2)), (0, (9, 0))):
        request = conversation.next_request(START_MS)
        assert request is not None
        assert (request.session_id, request.session_epoch) == expected
        conversation.on_response(response(session_id, a=data()), START_MS)


def test_a_lost_connection_is_left_alone_for_a_while() -> None:
    """There is no answer and perhaps no session: pause, then ask for everything."""
    conversation = fetcher(follower())
    conversation.next_request(START_MS)
    conversation.on_lost(START_MS)
    assert conversation.next_request(START_MS + 999) is None
    request = conversation.next_request(START_MS + 1_000)
    assert request is not None
    assert request.session_epoch == 0


def test_one_request_at_a_time() -> None:
    """A second one would ask for the same records again."""
    conversation = fetcher(follower())
    conversation.next_request(START_MS)
    with pytest.raises(AssertionError, match="still awaited"):
        conversation.next_request(START_MS)


@pytest.mark.parametrize(
    "error",
    [
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.UNKNOWN_TOPIC_ID,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.INCONSISTENT_TOPIC_ID,
        Error.KAFKA_STORAGE_ERROR,
        Error.OFFSET_OUT_OF_RANGE,  # from a leader that does not say where its log begins
        Error.CORRUPT_MESSAGE,
        Error.UNKNOWN_SERVER_ERROR,
    ],
)
def test_a_partition_that_cannot_be_fetched_pauses_alone(error: Error) -> None:
    """It leaves the session, the others go on, and it is asked for again after the pause."""
    a, b = follower(A), follower(B)
    conversation = fetcher(a, b)
    conversation.next_request(START_MS)
    records = memoryview(leaders_batch(0))
    refused = data(error, high_watermark=-1, log_start_offset=-1)
    fetched = conversation.on_response(response(a=refused, b=data(records=records)), START_MS)
    assert fetched.errors[A].error == error
    assert list(fetched.appended) == [B]
    request = conversation.next_request(START_MS)
    assert asked(request) == {IDS["b"]: (1, 0, 0)}
    assert request is not None
    assert [each.topic_id for each in request.forgotten_topics_data] == [IDS["a"]]
    conversation.on_response(response(), START_MS)
    assert conversation.retry_at_ms(START_MS) == START_MS + 1_000
    assert asked(conversation.next_request(START_MS + 1_000)) == {IDS["a"]: (0, -1, 0)}


def test_an_error_that_nobody_knows_pauses_too() -> None:
    """A leader of a later version may answer with a code of its own."""
    conversation = fetcher(follower())
    conversation.next_request(START_MS)
    answer = data()
    answer.error_code = 9_999
    fetched = conversation.on_response(response(a=answer), START_MS)
    assert fetched.errors[A].error == Error.UNKNOWN_SERVER_ERROR


def test_damaged_records_are_not_written() -> None:
    """The CRC is checked again: nothing of the answer is appended, and the partition asks again."""
    a = follower()
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    damaged = bytearray(leaders_batch(0) + leaders_batch(1))
    damaged[-1] ^= 1
    fetched = conversation.on_response(response(a=data(records=memoryview(damaged))), START_MS)
    assert fetched.errors[A].error == Error.CORRUPT_MESSAGE
    assert a.log.log_end_offset == 0
    assert conversation.next_request(START_MS) is None


@pytest.mark.parametrize("length", [-1, 0, 5])
def test_a_batch_with_an_impossible_length_is_damage(length: int) -> None:
    """Garbage in the place of a header does not end the conversation."""
    conversation = fetcher(follower())
    conversation.next_request(START_MS)
    broken = bytearray(leaders_batch(0))
    broken[8:12] = length.to_bytes(4, "big", signed=True)
    fetched = conversation.on_response(response(a=data(records=memoryview(broken))), START_MS)
    assert fetched.errors[A].error == Error.CORRUPT_MESSAGE


def test_an_answer_that_ends_inside_a_batch_or_is_larger_than_asked_for() -> None:
    """All whole batches are taken, however many; the last one comes again."""
    a = follower()
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    records = b"".join(leaders_batch(offset) for offset in range(40))
    assert len(records) > 1_000
    answer = data(records=memoryview(records + leaders_batch(40)[:-1]), high_watermark=7)
    fetched = conversation.on_response(response(a=answer), START_MS)
    assert fetched.appended[A].last_offset == 39
    assert fetched.size_bytes == len(records)
    assert a.high_watermark == 7
    assert asked(conversation.next_request(START_MS)) == {IDS["a"]: (40, 0, 0)}


def test_a_part_of_a_batch_is_no_progress() -> None:
    """A leader sends at least one whole batch; one that does not is asked again after a pause."""
    conversation = fetcher(follower())
    conversation.next_request(START_MS)
    part = memoryview(leaders_batch(0)[:-1])
    fetched = conversation.on_response(response(a=data(records=part)), START_MS)
    assert fetched.errors[A].error == Error.CORRUPT_MESSAGE


def test_records_of_a_later_leader_are_not_taken() -> None:
    """A deposed leader's file may hold its successor's records by the time they are sent."""
    a = follower(epoch=3)
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    records = leaders_batch(0, epoch=3) + leaders_batch(1, epoch=4)
    conversation.on_response(response(a=data(records=memoryview(records))), START_MS)
    assert a.log.log_end_offset == 1
    assert a.log.leader_epochs.latest_epoch == 3
    conversation.next_request(START_MS)
    only_later = memoryview(leaders_batch(1, epoch=4))
    fetched = conversation.on_response(response(a=data(records=only_later)), START_MS)
    assert A in fetched.errors  # asked again after a pause, not at once and for ever
    assert conversation.next_request(START_MS) is None


def test_answers_that_were_not_asked_for_are_counted_and_the_session_begins_anew() -> None:
    """Whatever the leader believes, it is not what was asked."""
    conversation = fetcher(follower())
    conversation.next_request(START_MS)
    fetched = conversation.on_response(response(a=data(), stranger=data()), START_MS)
    assert fetched.unexpected == 1
    request = conversation.next_request(START_MS)
    assert request is not None
    assert (request.session_id, request.session_epoch) == (5, 0)


def test_an_answer_for_a_partition_that_has_moved_on_is_ignored() -> None:
    """Since it was asked for, the partition left, or got another leader, or lost its disk."""
    records = memoryview(leaders_batch(0))
    left = follower()
    conversation = fetcher(left)
    conversation.next_request(START_MS)
    conversation.remove(A)
    assert not conversation.on_response(response(a=data(records=records)), START_MS).appended
    assert conversation.next_request(START_MS) is None

    elsewhere = follower()
    conversation = fetcher(elsewhere)
    conversation.next_request(START_MS)
    elsewhere.follow(Leadership(3, 1, 1, (1, 2, 3), (3,)))
    assert not conversation.on_response(response(a=data(records=records)), START_MS).appended
    assert conversation.next_request(START_MS) is None

    offline = follower()
    conversation = fetcher(offline)
    conversation.next_request(START_MS)
    offline.take_offline("the disk is gone")
    assert not conversation.on_response(response(a=data(records=records)), START_MS).appended
    assert conversation.next_request(START_MS) is None
    assert conversation.retry_at_ms(START_MS) is None


def test_a_full_disk_stops_one_partition_and_is_told() -> None:
    """Nothing of the answer is written; the shell decides what becomes of the directory."""
    a, b = follower(A), follower(B)
    conversation = fetcher(a, b)
    conversation.next_request(START_MS)
    disk = a.log.disk
    assert isinstance(disk, MemoryDisk)
    disk.make_read_only("/data")
    records = memoryview(leaders_batch(0))
    fetched = conversation.on_response(
        response(a=data(records=records), b=data(records=records)), START_MS
    )
    assert isinstance(fetched.disk_faults[A], OSError)
    assert list(fetched.appended) == [B]
    assert a.log.log_end_offset == 0


def test_a_flush_comes_before_the_next_fetch_counts() -> None:
    """flush.messages: by asking for the next offset a follower says that it has the one before."""
    a = follower(config=log_config(flush_messages=2))
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    fetched = conversation.on_response(
        response(a=data(records=memoryview(leaders_batch(0)))), START_MS
    )
    assert not fetched.flush_first
    conversation.next_request(START_MS)
    fetched = conversation.on_response(
        response(a=data(records=memoryview(leaders_batch(1)))), START_MS
    )
    assert fetched.flush_first == [a]
    assert conversation.next_request(START_MS) is None
    a.log.flush()
    a.on_flushed(2)
    assert asked(conversation.next_request(START_MS)) == {IDS["a"]: (2, 0, 0)}


def test_a_follower_before_the_leaders_log_starts_over_there() -> None:
    """Retention on the leader was faster: what is left begins later."""
    a = follower()
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    conversation.on_response(response(a=data(records=memoryview(leaders_batch(0)))), START_MS)
    conversation.next_request(START_MS)
    gone = data(Error.OFFSET_OUT_OF_RANGE, high_watermark=120, log_start_offset=100)
    fetched = conversation.on_response(response(a=gone), START_MS)
    assert (fetched.truncated[A].from_offset, fetched.truncated[A].to_offset) == (1, 100)
    assert not fetched.truncated[A].lost_committed
    assert (a.log.log_start_offset, a.log.log_end_offset, a.high_watermark) == (100, 100, 100)
    assert asked(conversation.next_request(START_MS)) == {IDS["a"]: (100, -1, 0)}


def test_a_log_that_begins_inside_a_batch_is_copied_with_the_whole_batch() -> None:
    """DeleteRecords on the leader may move its start into a batch; a new follower begins there."""
    a = follower()
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    gone = data(Error.OFFSET_OUT_OF_RANGE, high_watermark=8, log_start_offset=6)
    conversation.on_response(response(a=gone), START_MS)
    conversation.next_request(START_MS)
    builder = BatchBuilder(base_offset=5, leader_epoch=0)
    for value in (b"5", b"6", b"7"):
        builder.append(None, value, START_MS)
    records = memoryview(builder.build())
    conversation.on_response(
        response(a=data(records=records, high_watermark=8, log_start_offset=6)), START_MS
    )
    assert (a.log.log_start_offset, a.log.log_end_offset, a.high_watermark) == (6, 8, 8)


def test_the_start_of_the_log_follows_the_leaders() -> None:
    """What was deleted on the leader is deleted here, but never beyond what is committed here."""
    a = follower()
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    records = memoryview(b"".join(leaders_batch(offset) for offset in range(4)))
    conversation.on_response(
        response(a=data(records=records, high_watermark=3, log_start_offset=2)), START_MS
    )
    assert (a.log.log_start_offset, a.high_watermark) == (2, 3)
    conversation.next_request(START_MS)
    conversation.on_response(response(a=data(high_watermark=9, log_start_offset=8)), START_MS)
    assert (a.log.log_start_offset, a.high_watermark) == (2, 4)


def test_a_leader_that_cut_its_own_epoch_stops_the_follower() -> None:
    """A leader only appends in its epoch. Whoever has more of it than its leader has is proof that
    something is wrong, and cuts nothing; the other partitions go on.
    """
    a, b = follower(A), follower(B)
    conversation = fetcher(a, b)
    conversation.next_request(START_MS)
    records = memoryview(leaders_batch(0) + leaders_batch(1))
    conversation.on_response(response(a=data(records=records), b=data()), START_MS)
    conversation.next_request(START_MS)
    cut = data(diverging_epoch=EpochEndOffset(epoch=0, end_offset=1))
    more = data(records=memoryview(leaders_batch(0)))
    fetched = conversation.on_response(response(a=cut, b=more), START_MS)
    assert "never cuts its own epoch" in str(fetched.violated[A])
    assert A in fetched.errors
    assert list(fetched.appended) == [B]
    assert a.log.log_end_offset == 2


@pytest.mark.parametrize(("epoch", "end_offset"), [(1, 2), (1, 5), (9, 3), (-1, -1), (1, -1)])
def test_a_divergence_that_contradicts_nothing_is_no_answer(epoch: int, end_offset: int) -> None:
    """A follower that cut nothing would ask the same for ever; it pauses instead."""
    a = follower(epoch=2)
    conversation = fetcher(a)
    conversation.next_request(START_MS)
    records = memoryview(leaders_batch(0, epoch=0) + leaders_batch(1, epoch=1))
    conversation.on_response(response(a=data(records=records)), START_MS)
    conversation.next_request(START_MS)
    cut = data(diverging_epoch=EpochEndOffset(epoch=epoch, end_offset=end_offset))
    fetched = conversation.on_response(response(a=cut), START_MS)
    assert fetched.errors[A].error == Error.CORRUPT_MESSAGE
    assert a.log.log_end_offset == 2


def test_who_was_served_goes_to_the_back_of_a_full_request() -> None:
    """A leader fills its answer from the front; the order of the next request is fair."""
    a, b = follower(A), follower(B)
    conversation = fetcher(a, b)
    assert list(asked(conversation.next_request(START_MS))) == [IDS["a"], IDS["b"]]
    answer = response(0, a=data(records=memoryview(leaders_batch(0))))
    conversation.on_response(answer, START_MS)
    assert list(asked(conversation.next_request(START_MS))) == [IDS["b"], IDS["a"]]


def test_a_quota_holds_back_who_lags_and_nobody_else() -> None:
    """A partition that has everything committed is fetched although the quota is exceeded."""
    a, b = follower(A), follower(B)
    exceeded: list[bool] = [False]
    conversation = ReplicaFetcher(
        broker_id=FOLLOWER,
        broker_epoch=77,
        leader_id=LEADER,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=10_000,
        partition_max_bytes=1_000,
        backoff_ms=1_000,
        is_throttled=lambda _partition, _now_ms: exceeded[0],
    )
    conversation.add(a)
    conversation.add(b)
    conversation.next_request(START_MS)
    records = memoryview(leaders_batch(0))
    answer = response(
        a=data(records=records, high_watermark=1), b=data(records=records, high_watermark=50)
    )
    conversation.on_response(answer, START_MS)
    exceeded[0] = True
    request = conversation.next_request(START_MS)
    assert asked(request) == {IDS["a"]: (1, 0, 0)}
    assert request is not None
    assert [each.topic_id for each in request.forgotten_topics_data] == [IDS["b"]]
    conversation.on_response(response(), START_MS)
    exceeded[0] = False
    assert asked(conversation.next_request(START_MS)) == {IDS["b"]: (1, 0, 0)}
