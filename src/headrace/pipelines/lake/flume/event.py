"""An event, and the receipt by which its source learns that it is safe."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace


class Receipt:
    """Counts down the events of one batch; from any thread."""

    def __init__(self, events: int = 0) -> None:
        self._left = events
        self.is_lost = False
        self._lock = threading.Lock()

    def lose(self) -> None:
        """An event was taken and could not be written: it must be read again."""
        self.is_lost = True

    @property
    def is_settled(self) -> bool:
        """Whether every event of the batch is safe."""
        return self._left <= 0 and not self.is_lost

    def expect(self, events: int) -> None:
        """This number of events comes in addition: copies, for further channels."""
        with self._lock:
            self._left += events

    def settle(self, events: int = 1) -> None:
        """This number of events is safe, or will never be written."""
        with self._lock:
            self._left -= events


@dataclass(frozen=True, slots=True)
class Event:
    """A body with headers."""

    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    receipt: Receipt = field(default_factory=Receipt, compare=False)

    def but(self, **changes: object) -> Event:
        """The same event with another body or other headers."""
        return replace(self, **changes)  # type: ignore[arg-type]
