"""Idempotence and transactions of one partition, by the rules of Apache Kafka 4.3."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.errors import ClientFault, Error, InvariantViolated
from headrace.log.origin import Origin
from headrace.log.producer_state import CachedBatch, CompletedTransaction, ProducerState
from headrace.log.snapshot import ProducerEntry, Snapshots, decode
from headrace.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader
from headrace.records.control import EndTxnMarker
from headrace.runtime.os_disk import OsDisk

MAX_SEQUENCE = 2**31 - 1
NOW_MS = 1_700_000_000_000
COMMIT = EndTxnMarker(commit=True, coordinator_epoch=0)
ABORT = EndTxnMarker(commit=False, coordinator_epoch=0)


def header(
    sequence: int = 0,
    count: int = 1,
    *,
    producer_id: int = 1,
    epoch: int = 0,
    transactional: bool = False,
    control: bool = False,
    timestamp: int = NOW_MS,
) -> BatchHeader:
    attributes = TRANSACTIONAL_BIT * transactional | CONTROL_BIT * control
    return BatchHeader(
        base_offset=0,
        batch_length=61 - 12,
        partition_leader_epoch=-1,
        magic=2,
        crc=0,
        attributes=attributes,
        last_offset_delta=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        record_count=count,
    )


def transactional(sequence: int = 0, count: int = 1, producer_id: int = 1) -> BatchHeader:
    return header(sequence, count, producer_id=producer_id, transactional=True)


def end(producer_id: int = 1, epoch: int = 0) -> BatchHeader:
    return header(-1, producer_id=producer_id, epoch=epoch, transactional=True, control=True)


def write(
    state: ProducerState,
    batch: BatchHeader,
    marker: EndTxnMarker | None = None,
    origin: Origin = Origin.CLIENT,
    now_ms: int = NOW_MS,
) -> CompletedTransaction | None:
    """Append as a log does: check, write at the end, update."""
    base_offset = state.map_end_offset
    if marker is None:
        assert state.check(batch, origin) is None
    else:
        state.check_marker(batch, marker, origin)
    completed = state.update(batch, base_offset, now_ms, marker)
    state.map_end_offset = base_offset + batch.last_offset_delta + 1
    return completed


def refusal(state: ProducerState, batch: BatchHeader, origin: Origin = Origin.CLIENT) -> Error:
    with pytest.raises(ClientFault) as fault:
        state.check(batch, origin)
    assert str(batch.producer_id) in fault.value.message
    return fault.value.error


@pytest.mark.spec("slides:E04", "admin:TX-02")
def test_a_repeated_batch_is_answered_with_its_first_offset() -> None:
    """A retry of any of the last five batches is a duplicate and changes nothing."""
    state = ProducerState(map_end_offset=100)
    for number in range(5):
        write(state, header(number * 10, 10))
    for number in range(5):
        repeated = state.check(header(number * 10, 10), Origin.CLIENT)
        assert repeated == CachedBatch(
            first_sequence=number * 10,
            last_sequence=number * 10 + 9,
            base_offset=100 + number * 10,
            last_offset=109 + number * 10,
            timestamp=NOW_MS,
        )
    assert state.check(header(50), Origin.CLIENT) is None


def test_a_retry_older_than_five_batches_is_out_of_order() -> None:
    """Kafka 4.3 remembers five batches; what it forgot it cannot tell from a gap."""
    state = ProducerState()
    for number in range(6):
        write(state, header(number))
    assert state.check(header(1), Origin.CLIENT) is not None
    assert refusal(state, header(0)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("sequence", [0, 4, 6, 9, 11, MAX_SEQUENCE])
@pytest.mark.spec("admin:TX-02")
def test_a_gap_or_an_overlap_is_refused(sequence: int) -> None:
    """The next batch must begin right after the last one, or repeat a batch exactly."""
    state = ProducerState()
    write(state, header(0, 5))
    write(state, header(5, 5))
    assert refusal(state, header(sequence, 2)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_after_the_largest_int32() -> None:
    """After 2^31 - 1 comes 0, also inside a batch, and duplicates are still found."""
    state = ProducerState()
    write(state, header(MAX_SEQUENCE - 4, 2))
    write(state, header(MAX_SEQUENCE - 2, 5))
    assert state.check(header(MAX_SEQUENCE - 2, 5), Origin.CLIENT) is not None
    assert refusal(state, header(0)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert state.check(header(2), Origin.CLIENT) is None
    write(ProducerState(), header(0))
    edge = ProducerState()
    write(edge, header(MAX_SEQUENCE))
    assert refusal(edge, header(1)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    write(edge, header(0))


def test_an_unknown_producer_may_begin_anywhere() -> None:
    """Its state may have left with deleted segments, so Kafka asks nothing of the sequence."""
    state = ProducerState()
    write(state, header(17))
    assert refusal(state, header(17, 2)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_old_epoch_is_fenced() -> None:
    """A producer whose successor has written gets INVALID_PRODUCER_EPOCH, even for a retry."""
    state = ProducerState()
    write(state, header(0, epoch=1))
    write(state, header(0, epoch=2))
    assert refusal(state, header(0, epoch=1)) is Error.INVALID_PRODUCER_EPOCH
    assert refusal(state, header(1, epoch=1)) is Error.INVALID_PRODUCER_EPOCH


def test_a_new_epoch_begins_with_sequence_zero() -> None:
    """Sequences start over with the epoch, and the old epoch's batches are forgotten."""
    state = ProducerState()
    write(state, header(0, 7))
    assert refusal(state, header(7, epoch=1)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    write(state, header(0, epoch=1))
    assert refusal(state, header(0, 7, epoch=1)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_producers_do_not_disturb_each_other() -> None:
    """State is kept per producer id."""
    state = ProducerState()
    write(state, header(0, producer_id=1))
    write(state, header(0, producer_id=2))
    write(state, header(1, producer_id=1))
    assert len(state) == 2


def test_coordinators_write_without_sequences() -> None:
    """Offset commits inside a transaction have no sequence; only the epoch is checked."""
    state = ProducerState()
    commit = header(-1, epoch=3, transactional=True)
    write(state, commit, origin=Origin.COORDINATOR)
    write(state, commit, origin=Origin.COORDINATOR)
    assert state.active_producers()[0].last_sequence == -1
    old = commit._replace(producer_epoch=2)
    assert refusal(state, old, Origin.COORDINATOR) is Error.INVALID_PRODUCER_EPOCH


def test_replicated_batches_are_believed() -> None:
    """The leader has checked them: a follower takes any epoch and sequence."""
    state = ProducerState()
    write(state, header(5, epoch=4), origin=Origin.REPLICATION)
    write(state, header(9, epoch=2), origin=Origin.REPLICATION)
    write(state, transactional(3), origin=Origin.REPLICATION)
    write(state, end(), COMMIT, origin=Origin.REPLICATION)
    zombie = EndTxnMarker(commit=True, coordinator_epoch=-1)
    write(state, end(), zombie, origin=Origin.REPLICATION)
    assert state.active_producers()[0].producer_epoch == 0


def test_a_batch_without_a_producer_id_has_no_state() -> None:
    """The log must not show plain batches to the state."""
    with pytest.raises(InvariantViolated):
        ProducerState().update(header(-1, producer_id=-1, epoch=-1), 0, NOW_MS)


# Transactions.


def last_stable_offset(state: ProducerState, high_watermark: int) -> int:
    """The end of what a `read_committed` reader may see."""
    unstable = state.first_unstable_offset
    return high_watermark if unstable is None else min(unstable, high_watermark)


def test_an_open_transaction_holds_the_last_stable_offset() -> None:
    """Readers of committed data stop at the first record of the oldest open transaction."""
    state = ProducerState()
    write(state, header(0, 10, producer_id=9))
    assert last_stable_offset(state, 10) == 10
    write(state, transactional(0, 5, producer_id=1))
    write(state, transactional(0, 5, producer_id=2))
    write(state, transactional(5, 5, producer_id=1))
    assert state.first_undecided_offset == state.first_unstable_offset == 10
    assert last_stable_offset(state, 8) == 8
    assert last_stable_offset(state, 25) == 10
    # Producer 1's marker at 25; its transaction stays unstable until the marker is replicated.
    completed = write(state, end(1), COMMIT)
    assert completed == CompletedTransaction(
        producer_id=1, first_offset=10, last_offset=25, is_abort=False, last_stable_offset=15
    )
    assert state.first_undecided_offset == 15
    state.on_high_watermark(25)
    assert last_stable_offset(state, 25) == 10
    state.on_high_watermark(26)
    assert last_stable_offset(state, 26) == 15
    # Producer 2 aborts at 26: nothing is open after it.
    completed = write(state, end(2), ABORT)
    assert completed == CompletedTransaction(2, 15, 26, is_abort=True, last_stable_offset=27)
    state.on_high_watermark(27)
    assert state.first_unstable_offset is None
    assert last_stable_offset(state, 27) == 27


def test_ended_transactions_are_not_searched_again_and_again() -> None:
    """Recovery sees all those of a log before any is replicated: work grows with their number."""
    compared = 0

    class Offset(int):
        def __lt__(self, other: int) -> bool:
            nonlocal compared
            compared += 1
            return int(self) < other

    state, count = ProducerState(), 500
    for number in range(count):
        begin = Offset(2 * number)
        state.update(transactional(number), begin, NOW_MS)
        state.update(end(), begin + 1, NOW_MS, COMMIT)
        assert state.first_unstable_offset == 0
    for high_watermark in range(2 * count + 1):
        state.on_high_watermark(high_watermark)
        wanted = high_watermark // 2 * 2 if high_watermark < 2 * count else None
        assert state.first_unstable_offset == wanted
    assert compared <= 10 * count


def test_markers_may_come_in_another_order_than_beginnings() -> None:
    """A younger transaction that ends first does not free the older one."""
    state = ProducerState()
    write(state, transactional(producer_id=1))
    write(state, transactional(producer_id=2))
    assert write(state, end(2), ABORT) == (2, 1, 2, True, 0)
    state.on_high_watermark(3)
    assert last_stable_offset(state, 3) == 0
    assert write(state, end(1), COMMIT) == (1, 0, 3, False, 4)


def test_an_empty_transaction_completes_nothing() -> None:
    """A marker without data has no effect on readers and on the transaction index."""
    state = ProducerState()
    assert write(state, end(), ABORT) is None
    assert state.first_unstable_offset is None
    assert write(state, header(0)) is None


def test_a_marker_that_was_compacted_away_is_passed_over() -> None:
    """An empty control batch says nothing about any producer."""
    state = ProducerState()
    assert state.update(end(), 0, NOW_MS, None) is None
    assert len(state) == 0


def test_a_plain_batch_inside_a_transaction_is_refused() -> None:
    """A producer cannot write outside the transaction that it has open."""
    state = ProducerState()
    write(state, transactional(0))
    assert refusal(state, header(1)) is Error.INVALID_TXN_STATE
    write(state, end(), COMMIT)
    write(state, header(1))


def test_sequences_go_on_after_a_marker_of_the_same_epoch() -> None:
    """The marker has no sequence of its own."""
    state = ProducerState()
    write(state, transactional(0, 3))
    write(state, end(), COMMIT)
    write(state, transactional(3))
    assert state.check(transactional(3), Origin.CLIENT) is not None


@pytest.mark.parametrize("marker", [COMMIT, ABORT], ids=["committed", "aborted"])
def test_the_next_transaction_does_not_repeat_the_last_one(marker: EndTxnMarker) -> None:
    """Answered as a retry, its records would be lost: they were never written."""
    state = ProducerState()
    write(state, transactional(0, 3))
    assert state.check(transactional(0, 3), Origin.CLIENT) is not None
    write(state, end(), marker)
    assert refusal(state, transactional(0, 3)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    write(state, transactional(3))
    assert refusal(state, transactional(0, 3)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_marker_with_a_new_epoch_starts_sequences_over() -> None:
    """A coordinator that fences a producer raises the epoch with the marker."""
    state = ProducerState()
    write(state, transactional(0, 3))
    write(state, end(epoch=1), ABORT)
    assert refusal(state, transactional(3)) is Error.INVALID_PRODUCER_EPOCH
    write(state, header(0, epoch=1))


def test_an_old_coordinator_is_fenced() -> None:
    """A marker from a coordinator that was replaced gets TRANSACTION_COORDINATOR_FENCED."""
    state = ProducerState()
    write(state, transactional(0))
    write(state, end(), EndTxnMarker(commit=True, coordinator_epoch=5))
    write(state, transactional(1))
    with pytest.raises(ClientFault) as fault:
        write(state, end(), EndTxnMarker(commit=True, coordinator_epoch=4))
    assert fault.value.error is Error.TRANSACTION_COORDINATOR_FENCED


def test_a_marker_of_an_old_epoch_is_fenced() -> None:
    """A marker for a producer that was replaced gets INVALID_PRODUCER_EPOCH."""
    state = ProducerState()
    write(state, header(0, epoch=2))
    with pytest.raises(ClientFault) as fault:
        write(state, end(epoch=1), ABORT)
    assert fault.value.error is Error.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(
    ("epoch", "marker_epoch", "is_open", "accepted"),
    [
        (0, 1, True, True),
        (0, 0, True, False),  # late: this epoch's transaction is a newer one
        (0, 0, False, True),  # the same marker once more, after a lost response
        (1, 0, False, False),
        (2**15 - 1, 2**15 - 1, True, True),  # the epoch cannot be raised any more
    ],
)
def test_transaction_version_2_raises_the_epoch_with_each_marker(
    epoch: int, marker_epoch: int, is_open: bool, accepted: bool
) -> None:
    """KIP-890: only a higher epoch, or a repetition, may end a transaction."""
    state = ProducerState()
    write(state, header(0, epoch=epoch, transactional=is_open))
    marker = end(epoch=marker_epoch)
    if accepted:
        state.check_marker(marker, COMMIT, Origin.COORDINATOR, transaction_version=2)
        return
    with pytest.raises(ClientFault) as fault:
        state.check_marker(marker, COMMIT, Origin.COORDINATOR, transaction_version=2)
    assert fault.value.error is Error.INVALID_PRODUCER_EPOCH


def test_deleting_the_logs_start_frees_ended_transactions() -> None:
    """What was deleted cannot hold readers; producers stay known."""
    state = ProducerState()
    write(state, transactional(0))
    write(state, end(), COMMIT)
    state.on_log_start_offset(2)
    assert state.first_unstable_offset is None
    state.on_log_start_offset(50)
    assert state.map_end_offset == 50
    assert len(state) == 1


# Expiry and snapshots.


def test_idle_producers_expire() -> None:
    """Time counts from the last write, not from the records' timestamps, which may be old."""
    state = ProducerState()
    write(state, header(0, producer_id=1, timestamp=5), now_ms=1000)
    write(state, header(0, producer_id=2, timestamp=10**15), now_ms=1500)
    assert state.expire(1999, 1000) == []
    assert state.expire(2000, 1000) == [1]
    assert [entry.producer_id for entry in state.active_producers()] == [2]
    write(state, header(1, producer_id=2), now_ms=2400)
    assert state.expire(3000, 1000) == []


def test_an_open_transaction_keeps_its_producer() -> None:
    """A producer expires only after its transaction has ended."""
    state = ProducerState()
    write(state, transactional(0), now_ms=1000)
    assert state.expire(10**9, 1000) == []
    write(state, end(), ABORT, now_ms=2000)
    assert state.expire(2999, 1000) == []
    assert state.expire(3000, 1000) == [1]


@pytest.mark.spec("admin:TX-09")
def test_a_snapshot_restores_producers_and_open_transactions() -> None:
    """After a restart retries are recognised and readers stop where they stopped before."""
    state = ProducerState(map_end_offset=1000)
    write(state, header(0, 10, producer_id=1, epoch=3))
    write(state, transactional(MAX_SEQUENCE - 1, 5, producer_id=2))
    write(state, end(3), EndTxnMarker(commit=True, coordinator_epoch=7))
    write(state, transactional(0, 2, producer_id=4))
    restored = ProducerState.from_snapshot(state.to_snapshot(), state.map_end_offset, NOW_MS)
    assert restored.active_producers() == state.active_producers()
    assert restored.active_producers() == [
        ProducerEntry(1, 3, 9, 1009, 9, NOW_MS, -1, -1),
        ProducerEntry(2, 0, 2, 1014, 4, NOW_MS, -1, 1010),
        ProducerEntry(3, 0, -1, -1, 0, NOW_MS, 7, -1),
        ProducerEntry(4, 0, 1, 1017, 1, NOW_MS, -1, 1016),
    ]
    assert restored.map_end_offset == 1018
    assert restored.first_unstable_offset == 1010
    repeated = restored.check(transactional(MAX_SEQUENCE - 1, 5, producer_id=2), Origin.CLIENT)
    assert repeated == CachedBatch(MAX_SEQUENCE - 1, 2, 1010, 1014, NOW_MS)
    write(restored, header(10, producer_id=1, epoch=3))
    assert write(restored, end(2), ABORT) == (2, 1010, 1019, True, 1016)
    assert restored.expire(NOW_MS + 999, 1000) == []


def test_a_restored_offset_commit_has_no_sequence() -> None:
    """What a coordinator wrote is restored without inventing a sequence."""
    state = ProducerState()
    write(state, header(-1, 3, transactional=True), origin=Origin.COORDINATOR)
    restored = ProducerState.from_snapshot(state.to_snapshot(), 3, NOW_MS)
    assert restored.active_producers() == state.active_producers()
    assert restored.check(header(0, 3, transactional=True), Origin.CLIENT) is None


def test_truncation_falls_back_to_the_newest_snapshot_below_the_end(tmp_path: Path) -> None:
    """After the log's end was cut, state and snapshots describe only what is left."""
    snapshots = Snapshots(OsDisk(), str(tmp_path), [])
    state = ProducerState()
    for offset in range(30):
        if offset in (5, 10, 20):
            snapshots.write(offset, state.active_producers(), sync=False)
        write(state, header(offset))
    state.truncate_and_reload(snapshots, 5, 15, NOW_MS)
    assert snapshots.offsets == [10]
    assert state.map_end_offset == 10
    assert state.active_producers()[0].last_sequence == 9
    # Nothing to do if the state already ends there.
    for offset in range(10, 15):
        write(state, header(offset))
    state.truncate_and_reload(snapshots, 5, 15, NOW_MS)
    assert state.active_producers()[0].last_sequence == 14


def test_truncation_without_a_snapshot_starts_anew(tmp_path: Path) -> None:
    """Without a snapshot the whole log is replayed from its start."""
    snapshots = Snapshots(OsDisk(), str(tmp_path), [])
    state = ProducerState()
    write(state, transactional(0, 10))
    write(state, end(), ABORT)
    state.truncate_and_reload(snapshots, 3, 7, NOW_MS)
    assert state.map_end_offset == 3
    assert len(state) == 0
    assert state.first_unstable_offset is None


class Model:
    """One producer as the rules describe it, kept the slow way."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.written: list[tuple[int, int, int]] = []  # first and last sequence, base offset

    def judge(self, batch: BatchHeader) -> Error | int | None:
        last = (batch.base_sequence + batch.last_offset_delta) % 2**31
        if batch.producer_epoch < self.epoch:
            return Error.INVALID_PRODUCER_EPOCH
        if batch.producer_epoch > self.epoch:
            return None if batch.base_sequence == 0 else Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        for first_known, last_known, base_offset in self.written[-5:]:
            if (first_known, last_known) == (batch.base_sequence, last):
                return base_offset
        expected = (self.written[-1][1] + 1) % 2**31 if self.written else 0
        return None if batch.base_sequence == expected else Error.OUT_OF_ORDER_SEQUENCE_NUMBER


class IdempotenceMachine(RuleBasedStateMachine):
    """Producers that retry, skip, restart and wrap, against a model that keeps every batch."""

    def __init__(self) -> None:
        super().__init__()
        self.state = ProducerState()
        self.models: dict[int, Model] = {}

    def send(self, batch: BatchHeader) -> None:
        model = self.models.get(batch.producer_id)
        expected = None if model is None else model.judge(batch)
        if isinstance(expected, Error):
            assert refusal(self.state, batch) is expected
            return
        found = self.state.check(batch, Origin.CLIENT)
        assert (None if found is None else found.base_offset) == expected
        if found is not None:
            return
        base_offset = self.state.map_end_offset
        write(self.state, batch)
        if model is None or batch.producer_epoch != model.epoch:
            model = self.models[batch.producer_id] = Model(batch.producer_epoch)
        last = (batch.base_sequence + batch.last_offset_delta) % 2**31
        model.written.append((batch.base_sequence, last, base_offset))

    @rule(
        producer_id=st.integers(1, 3),
        epoch=st.integers(0, 3),
        sequence=st.one_of(st.integers(0, 12), st.integers(MAX_SEQUENCE - 12, MAX_SEQUENCE)),
        count=st.integers(1, 4),
    )
    def send_anything(self, producer_id: int, epoch: int, sequence: int, count: int) -> None:
        self.send(header(sequence, count, producer_id=producer_id, epoch=epoch))

    @precondition(lambda self: self.models)
    @rule(data=st.data(), count=st.integers(1, 4))
    def send_the_next(self, data: st.DataObject, count: int) -> None:
        producer_id = data.draw(st.sampled_from(sorted(self.models)))
        model = self.models[producer_id]
        sequence = (model.written[-1][1] + 1) % 2**31 if model.written else 0
        self.send(header(sequence, count, producer_id=producer_id, epoch=model.epoch))

    @precondition(lambda self: any(model.written for model in self.models.values()))
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        candidates = [key for key, model in sorted(self.models.items()) if model.written]
        producer_id = data.draw(st.sampled_from(candidates))
        model = self.models[producer_id]
        first, last, _ = data.draw(st.sampled_from(model.written[-7:]))
        count = (last - first) % 2**31 + 1
        self.send(header(first, count, producer_id=producer_id, epoch=model.epoch))

    @rule()
    def restart(self) -> None:
        self.state = ProducerState.from_snapshot(
            self.state.to_snapshot(), self.state.map_end_offset, NOW_MS
        )
        for model in self.models.values():
            del model.written[:-1]  # a snapshot keeps the last batch only

    @invariant()
    def the_snapshot_shows_each_producers_last_batch(self) -> None:
        shown = {entry.producer_id: entry for entry in decode(self.state.to_snapshot())}
        assert shown.keys() == self.models.keys()
        for producer_id, model in self.models.items():
            assert shown[producer_id].last_sequence == model.written[-1][1]


TestIdempotence = IdempotenceMachine.TestCase


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3), st.sampled_from(["write", "commit", "abort"]), st.integers(0, 3)
        ),
        max_size=30,
    )
)
def test_the_last_stable_offset_is_that_of_a_plain_search(
    steps: list[tuple[int, str, int]],
) -> None:
    """Against a search through the whole log: no undecided or unreplicated record is readable."""
    state = ProducerState()
    opened: dict[int, int] = {}  # producer -> first offset
    ended: list[tuple[int, int]] = []  # first offset, marker offset
    next_sequence = dict.fromkeys(range(1, 4), 0)
    high_watermark = 0
    for producer_id, action, lag in steps:
        offset = state.map_end_offset
        if action == "write":
            write(state, transactional(next_sequence[producer_id], producer_id=producer_id))
            next_sequence[producer_id] += 1
            opened.setdefault(producer_id, offset)
        else:
            completed = write(state, end(producer_id), COMMIT if action == "commit" else ABORT)
            first = opened.pop(producer_id, None)
            assert (completed is None) is (first is None)
            if first is not None and completed is not None:
                ended.append((first, offset))
                assert completed.is_abort is (action == "abort")
                assert completed.last_stable_offset == min(opened.values(), default=offset + 1)
        high_watermark = max(high_watermark, offset + 1 - lag)
        state.on_high_watermark(high_watermark)
        unstable = [*opened.values(), *(f for f, marker in ended if marker >= high_watermark)]
        assert last_stable_offset(state, high_watermark) == min([*unstable, high_watermark])
