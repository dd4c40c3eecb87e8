"""Which batches belong to aborted transactions, and which markers still end something.

The walk through a log meets the batches of a transaction first and its marker later. Records of an
aborted transaction are removed. A marker is kept while any record of its transaction was there at
the beginning of this walk, so that a reader who has seen such a record also learns how it ended;
the index of aborted transactions keeps its entry as long. The rules are those of Apache Kafka 4.3.
Nothing here knows keys, times or files.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.log.transactions import read_marker
from headrace.log.txn_index import AbortedTransaction
from headrace.records.batch import BatchHeader


class TransactionWalk:
    """The transactions that are open where a walk through the log has come to."""

    __slots__ = ("_aborted", "_ahead", "_committed", "_needed", "_seen")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        """`aborted` are all that touch the batches to be shown."""
        self._ahead = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}  # by producer, since here
        self._seen: set[int] = set()  # producers of these whose records were met
        self._committed: set[int] = set()  # producers of others whose records were met
        self._needed: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a batch of data is part of an aborted transaction. Show each batch once."""
        if not header.is_transactional:
            return False
        self._begin_up_to(header.last_offset)
        if header.producer_id in self._aborted:
            self._seen.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def is_spent(self, header: BatchHeader, batch: memoryview) -> bool:
        """Whether a control batch ends nothing any more. Show each batch once."""
        self._begin_up_to(header.last_offset)
        if header.record_count == 0:
            return True  # Only its place was kept, by an earlier compaction.
        marker = read_marker(header, batch)
        if marker is None:
            return False  # It is about something else than transactions.
        producer_id = header.producer_id
        if marker.commit:
            met = producer_id in self._committed
            self._committed.discard(producer_id)
            return not met
        transaction = self._aborted.pop(producer_id, None)
        met = producer_id in self._seen
        self._seen.discard(producer_id)
        if transaction is not None and met:
            self._needed.append(transaction)
            return False
        return True

    def take_needed(self) -> list[AbortedTransaction]:
        """The aborted transactions that the index must name, whose markers were met since the last
        time.
        """
        needed, self._needed = self._needed, []
        return needed

    def _begin_up_to(self, offset: int) -> None:
        ahead = self._ahead
        while ahead and ahead[-1].first_offset <= offset:
            transaction = ahead.pop()
            self._aborted.setdefault(transaction.producer_id, transaction)
