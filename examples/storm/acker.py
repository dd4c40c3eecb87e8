"""Which records of the spout are done: all tuples that came of them are acknowledged.

A record counts its open tuples. The last acknowledgement tells the spout; a failure, or too long a
silence, makes the spout bring the record again. Time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class _Open:
    message_id: Any
    tuples: int
    due: float


class Acker:
    """Open records by their number."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._open: dict[int, _Open] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._open)

    def track(self, message_id: Any, now: float) -> int:
        """A new record, with one open tuple: the record itself."""
        self._next += 1
        self._open[self._next] = _Open(message_id, 1, now + self._timeout_s)
        return self._next

    def emitted(self, root: int | None) -> None:
        if root in self._open:
            self._open[root].tuples += 1

    def acked(self, root: int | None) -> Any | None:
        """The id of the message that is done with this acknowledgement, if any."""
        if root is None or root not in self._open:
            return None  # not tracked; or failed before, and the spout brings it again
        record = self._open[root]
        record.tuples -= 1
        if record.tuples:
            return None
        del self._open[root]
        return record.message_id

    def failed(self, root: int | None) -> Any | None:
        """The id of the message that must come again."""
        record = self._open.pop(root, None) if root is not None else None
        return None if record is None else record.message_id

    def expired(self, now: float) -> Iterator[Any]:
        """Ids of messages that nobody has answered for in time."""
        for root in [root for root, record in self._open.items() if record.due <= now]:
            yield self._open.pop(root).message_id
