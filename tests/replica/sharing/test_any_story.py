"""Whatever happens to a share partition, a model that knows every single offset agrees with it."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.errors import ClientFault, Error
from headrace.replica.sharing.choosing import LogBatch
from headrace.replica.sharing.partition import SharePartition
from headrace.replica.sharing.states import RecordState, SavedBatch, ShareLimits, StateWrite
from tests.generated import examples
from tests.replica.sharing.log_batches import acquire, say

LIMITS = ShareLimits(lock_duration_ms=10, delivery_count_limit=3, max_record_locks=30)
MEMBERS = ("a", "b", "c")
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4

members = st.sampled_from(MEMBERS)


@dataclass
class Fate:
    """One offset, as the model has it."""

    state: RecordState = RecordState.AVAILABLE
    count: int = 0
    member: str = ""
    deadline_ms: int = 0
    pending: RecordState | None = None


class AnyStory(RuleBasedStateMachine):
    """A log that grows, members that take and give, writes that succeed or fail, crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.now_ms = 0
        self.batches: list[LogBatch] = []
        self.end = 0
        self.share = SharePartition(0)
        self.fates: dict[int, Fate] = {}
        self.kept: dict[int, tuple[int, int]] = {}
        self.kept_start = 0
        self.log_start = 0
        self.accepted: set[int] = set()  # whoever accepted them was told so
        self.writing: tuple[StateWrite, dict[int, RecordState]] | None = None

    @rule(size=st.integers(1, 8), hidden=st.booleans())
    def append(self, size: int, hidden: bool) -> None:
        self.batches.append(
            LogBatch(self.end, self.end + size - 1, self.end * 10, size * 10, hidden and size == 1)
        )
        self.end += size

    @rule(member=members, records=st.integers(1, 10), strict=st.booleans())
    def acquire(self, member: str, records: int, strict: bool) -> None:
        got = acquire(
            self.share,
            member,
            self.batches,
            now_ms=self.now_ms,
            records=records,
            strict=strict,
            limits=LIMITS,
        )
        taken = 0
        for first, last, count in got:
            for offset in range(first, last + 1):
                fate = self.fates.setdefault(offset, Fate())
                assert fate.state is RecordState.AVAILABLE
                assert fate.pending is None
                assert offset not in self.accepted
                assert count == fate.count + 1 <= LIMITS.delivery_count_limit
                deadline_ms = self.now_ms + LIMITS.lock_duration_ms
                self.fates[offset] = Fate(RecordState.ACQUIRED, count, member, deadline_ms)
                taken += 1
        assert not strict or taken <= records
        self._pass_hidden()

    def _pass_hidden(self) -> None:
        """Markers that were walked over are archived: the model believes only that of them."""
        for batch in self.batches:
            span = next(self.share.window.overlapping(batch.first, batch.first), None)
            if batch.hidden and span is not None and span.state is RecordState.ARCHIVED:
                self.fates[batch.first] = Fate(RecordState.ARCHIVED)

    @rule(member=members, kind=st.sampled_from([ACCEPT, RELEASE, REJECT, RENEW]), data=st.data())
    def acknowledge(self, member: str, kind: int, data: st.DataObject) -> None:
        first = data.draw(st.integers(self.log_start, max(self.end, 1)))
        last = first + data.draw(st.integers(0, 5))
        mine = all(
            (fate := self.fates.get(offset)) is not None
            and fate.state is RecordState.ACQUIRED
            and fate.member == member
            and fate.pending is None
            for offset in range(first, last + 1)
        )
        try:
            self.share.acknowledge(member, say(first, last, kind), kind, self.now_ms, LIMITS)
        except ClientFault:
            assert not mine
            return
        assert mine
        for offset in range(first, last + 1):
            fate = self.fates[offset]
            if kind == RENEW:
                fate.deadline_ms = self.now_ms + LIMITS.lock_duration_ms
            else:
                fate.pending = self._target(fate, kind)

    @staticmethod
    def _target(fate: Fate, kind: int) -> RecordState:
        if kind == ACCEPT:
            return RecordState.ACKNOWLEDGED
        if kind == REJECT or fate.count >= LIMITS.delivery_count_limit:
            return RecordState.ARCHIVED
        return RecordState.AVAILABLE

    @rule(member=members)
    def member_goes(self, member: str) -> None:
        self.share.release(member, None, LIMITS)
        for fate in self.fates.values():
            held = fate.state is RecordState.ACQUIRED and fate.member == member
            if held and fate.pending is None:
                fate.pending = self._target(fate, RELEASE)

    @rule(passed_ms=st.integers(1, 12))
    def time_passes(self, passed_ms: int) -> None:
        self.now_ms += passed_ms
        due = [
            offset
            for offset, fate in self.fates.items()
            if fate.state is RecordState.ACQUIRED
            and fate.pending is None
            and fate.deadline_ms <= self.now_ms
        ]
        if due:
            assert self.share.wake_at_ms is not None
            assert self.share.wake_at_ms <= self.now_ms
        self.share.on_time(self.now_ms, LIMITS)
        for offset in due:
            fate = self.fates[offset]
            self.fates[offset] = Fate(self._target(fate, RELEASE), fate.count)

    @rule()
    def write_begins(self) -> None:
        write = self.share.begin_write()
        if write is not None:
            pending = {o: f.pending for o, f in self.fates.items() if f.pending is not None}
            self.writing = (write, pending)

    @rule(error=st.sampled_from([Error.NONE, Error.NONE, Error.COORDINATOR_NOT_AVAILABLE]))
    def write_ends(self, error: Error) -> None:
        if self.writing is None:
            return
        (write, pending), self.writing = self.writing, None
        self.share.end_write(error)
        for offset, target in pending.items():
            fate = self.fates[offset]
            fate.pending = None
            if not error:
                self.fates[offset] = Fate(target, fate.count)
                if target is RecordState.ACKNOWLEDGED:
                    self.accepted.add(offset)
        if not error:
            self._keep(write)

    def _keep(self, write: StateWrite) -> None:
        assert write.start_offset >= self.kept_start, "what is kept never goes back"
        self.kept_start = write.start_offset
        for batch in write.batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                self.kept[offset] = (batch.state, batch.delivery_count)

    @rule()
    def leader_moves(self) -> None:
        kept = [
            SavedBatch(offset, offset, *fate)
            for offset, fate in sorted(self.kept.items())
            if offset >= self.kept_start
        ]
        self.share = SharePartition(self.kept_start, kept)
        self.share.on_log_start(self.log_start)
        self.writing = None
        self.fates = {offset: Fate(RecordState(state), count) for offset, _, state, count in kept}
        for offset in range(max(self.kept_start, self.log_start)):
            self.fates[offset] = Fate(RecordState.ARCHIVED)

    @rule(data=st.data())
    def log_start_moves(self, data: st.DataObject) -> None:
        start = self.log_start = data.draw(st.integers(self.log_start, self.end))
        self.share.on_log_start(start)
        for offset in range(start):
            self.fates[offset] = Fate(RecordState.ARCHIVED)

    @invariant()
    def each_offset_is_in_one_state(self) -> None:
        window = self.share.window
        expected = window.start_offset
        for span in window.spans:
            assert span.first == expected
            assert span.last >= span.first
            expected = span.last + 1
            for offset in range(span.first, span.last + 1):
                fate = self.fates.get(offset, Fate())
                assert (span.state, span.count or fate.count, span.member) == (
                    fate.state,
                    fate.count,
                    fate.member,
                ), offset
                assert (span.change is not None) == (fate.pending is not None)
        for offset, fate in self.fates.items():
            if offset < window.start_offset:
                assert fate.state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED), offset
            elif offset >= window.end_offset:
                assert fate.state is RecordState.AVAILABLE, offset

    @invariant()
    def what_was_accepted_is_done_for_ever(self) -> None:
        for offset in self.accepted:
            assert self.fates[offset].state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


TestAnyStory = AnyStory.TestCase
TestAnyStory.settings = settings(
    max_examples=examples(40), stateful_step_count=40, deadline=None, database=None
)
