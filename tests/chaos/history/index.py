"""One pass over a history that answers what every check asks: who sent, who saw, in what order.

Three facts carry the rest. A poll that returned a record proves that the record was visible,
whatever became of the transaction around the poll. A sender that was acknowledged, or one of
whose records was seen, has committed all its records. The order of a partition is the order of
the offsets that were polled; others hold markers and aborted records. Judges nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.chaos.history.operation import Operation, Outcome, Record

Place = tuple[str, str]  # key and value


class Index:
    """The facts of one history."""

    def __init__(self, history: Sequence[Operation]) -> None:
        self.history = history
        self.sender: dict[Place, Operation] = {}
        self.readers: dict[Place, list[Operation]] = defaultdict(list)
        self.values: dict[tuple[str, int], set[str]] = defaultdict(set)  # at key and offset
        self.offsets: dict[Place, set[int]] = defaultdict(set)
        for operation in history:
            for key, offset, value in operation.sent:
                self.sender[key, value] = operation
                self._place(key, offset, value)
            for key, offset, value in operation.polled:
                readers = self.readers[key, value]
                if not readers or readers[-1] is not operation:
                    readers.append(operation)
                self._place(key, offset, value)
        self.last_seen: dict[str, int] = {}  # the highest offset that anyone polled, by key
        self._rank = self._rank_seen_offsets()

    def _place(self, key: str, offset: int | None, value: str) -> None:
        if offset is not None:
            self.values[key, offset].add(value)
            self.offsets[key, value].add(offset)

    def _rank_seen_offsets(self) -> dict[tuple[str, int], int]:
        """The place of every polled offset in the order of its partition: 0, 1, 2, …"""
        seen: dict[str, set[int]] = defaultdict(set)
        for operation in self.history:
            for key, offset, _ in operation.polled:
                if offset is not None:
                    seen[key].add(offset)
        rank: dict[tuple[str, int], int] = {}
        for key, offsets in seen.items():
            self.last_seen[key] = max(offsets)
            rank.update(((key, offset), at) for at, offset in enumerate(sorted(offsets)))
        return rank

    def offset_of(self, record: Record) -> int | None:
        """Where the record is: as its own operation knows, or as any other does."""
        if record.offset is not None:
            return record.offset
        return min(self.offsets.get((record.key, record.value), ()), default=None)

    def step(self, before: Record, after: Record) -> int:
        """How far apart two polled records are: 1 if one directly follows the other."""
        assert before.offset is not None, "a polled record has an offset"
        assert after.offset is not None, "a polled record has an offset"
        return self._rank[after.key, after.offset] - self._rank[before.key, before.offset]

    def must_have_committed(self, operation: Operation) -> bool:
        """Whether the operation's records are there for ever, as far as anyone can know."""
        match operation.outcome:
            case Outcome.OK:
                return True
            case Outcome.FAIL:
                return False
            case Outcome.INFO:
                return any((record.key, record.value) in self.readers for record in operation.sent)

    def unread(self) -> Iterator[tuple[Record, Operation]]:
        """Records that must be there and that no poll returned, with the offset if it is known."""
        for operation in self.history:
            if operation.sent and self.must_have_committed(operation):
                for record in operation.sent:
                    if (record.key, record.value) not in self.readers:
                        yield record._replace(offset=self.offset_of(record)), operation
