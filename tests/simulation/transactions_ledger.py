"""What a reader of committed records may see, judged by what producers asked for and were told.

One omniscient reader per partition follows the last stable offset after every event. Each record of
a transaction carries the number of its attempt.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.errors import Error
from headrace.log import PartitionLog
from headrace.testing.simulated_network import SimulatedCall
from headrace.types import TopicPartition
from headrace.wire.messages.end_txn import EndTxnRequest
from tests.simulation.failure import check, fail
from tests.simulation.producers import Attempt
from tests.simulation.reading import VisibleRecord, read_committed


class TransactionsLedger:
    """See the module."""

    def __init__(self) -> None:
        self.attempts: dict[int, Attempt] = {}
        self.visible: dict[TopicPartition, list[VisibleRecord]] = {}
        self.sources: Counter[bytes] = Counter()  # input records that have a visible output
        self._stable: dict[TopicPartition, int] = {}
        self._by_attempt: dict[int, Counter[bytes]] = {}

    def begin(self, transactional_id: str, group_id: str) -> Attempt:
        attempt = Attempt(len(self.attempts) + 1, transactional_id, group_id)
        self.attempts[attempt.number] = attempt
        return attempt

    def on_answer(self, call: SimulatedCall, response: Any) -> None:
        attempt = call.context
        if (
            not isinstance(call.request, EndTxnRequest)
            or attempt is None
            or response.error_code != Error.NONE
        ):
            return
        if call.request.committed:
            attempt.is_commit_told = True
        else:
            attempt.is_abort_told = True
        check(
            not (attempt.is_commit_told and attempt.is_abort_told),
            "one-outcome",
            f"transaction {attempt.number} was told to be committed, and aborted",
        )

    def follow(self, where: TopicPartition, log: PartitionLog) -> None:
        """Read what has become stable since the last look."""
        before, stable = self._stable.get(where, 0), log.last_stable_offset
        if stable == before:
            return
        check(
            stable > before,
            "stable-goes-forward",
            f"the last stable offset of {where} was {before} and is {stable}",
        )
        self.extend(where, stable, read_committed(log, before))

    def extend(self, where: TopicPartition, stable: int, found: list[VisibleRecord]) -> None:
        """These have become visible, and everything is stable up to an offset."""
        self._stable[where] = stable
        self.visible.setdefault(where, []).extend(found)
        for record in found:
            self._see(where, record)

    def _see(self, where: TopicPartition, record: VisibleRecord) -> None:
        number, arrow, source = record.value.partition(b">")
        if not arrow:
            return  # of the feeder
        attempt = self.attempts[int(number)]
        if not attempt.is_commit_sent or attempt.is_abort_told:
            fail("only-committed-is-visible", f"{record} of {where} is visible: {attempt}")
        seen = self._by_attempt.setdefault(attempt.number, Counter())
        seen[record.value] += 1
        if seen[record.value] > 1:
            fail("exactly-once", f"{record} of {where} is there twice")
        if source:
            self.sources[source] += 1
            if self.sources[source] > 1:
                fail("exactly-once", f"{source!r} was transformed twice, again by {attempt}")

    def cut(self, where: TopicPartition, stable: int) -> None:
        """Records of a partition were lost, and might be: only those below an offset are left."""
        self._stable[where] = min(stable, self._stable.get(where, 0))
        kept = [record for record in self.visible.get(where, []) if record.offset < stable]
        self.visible[where] = kept

    def forget(self, topic: str) -> None:
        """A topic was deleted."""
        for where in [each for each in self._stable if each.topic == topic]:
            del self._stable[where]
            self.visible.pop(where, None)
        for attempt in self.attempts.values():
            for where in [each for each in attempt.records if each.topic == topic]:
                del attempt.records[where]

    def check_complete(self, attempt: Attempt) -> bool:
        """All or nothing; returns whether it was committed."""
        seen = self._by_attempt.get(attempt.number, Counter())
        wanted = {value for values in attempt.records.values() for value in values}
        if attempt.is_commit_told:
            missing = wanted - set(seen)
            check(not missing, "all-or-nothing", f"{missing} of {attempt} cannot be read")
        is_committed = attempt.is_commit_told or bool(set(seen) & wanted)
        if is_committed:
            missing = wanted - set(seen)
            check(not missing, "all-or-nothing", f"only {set(seen)} of {attempt} can be read")
        return is_committed

    def check_read_again(self, where: TopicPartition, log: PartitionLog) -> None:
        """A reader that begins anew sees what the one saw that was there all the time."""
        again = read_committed(log, log.log_start_offset)
        seen = self.visible.get(where, [])
        if again != seen:
            fail("readers-agree", f"{where} read again is {again}, it was {seen}")
