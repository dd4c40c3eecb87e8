"""Numbered rows, and the book in which each of them is crossed off as it comes out of the sink."""

from __future__ import annotations

from dataclasses import dataclass, field

INPUT = "input"
EXACT = "exactly-once"
REPEATED = "at-least-once"
GUARANTEES = (EXACT, REPEATED)  # the topics have the names of the guarantees that they show
TOPICS = (INPUT, *GUARANTEES)
PARTITIONS = 4


@dataclass(slots=True)
class Book:
    """How often each number was seen: 0, 1, or 2 for any more."""

    name: str
    seen: bytearray = field(default_factory=bytearray)
    doubled: int = 0
    first_doubled: int | None = None
    _complete_below: int = 0

    def cross_off(self, number: int) -> None:
        missing = number + 1 - len(self.seen)
        if missing > 0:
            self.seen += bytes(missing)
        if self.seen[number]:
            self.seen[number] = 2
            self.doubled += 1
            if self.first_doubled is None:
                self.first_doubled = number
        else:
            self.seen[number] = 1

    def complete_below(self) -> int:
        """The first number that was not seen yet."""
        found = self.seen.find(0, self._complete_below)
        self._complete_below = len(self.seen) if found < 0 else found
        return self._complete_below

    def missing_of(self, count: int) -> list[int]:
        """The numbers below `count` that never came."""
        known = self.seen[:count]
        absent = [number for number, times in enumerate(known) if times == 0]
        return absent + list(range(len(known), count))

    def faults(self, count: int) -> list[str]:
        """What is wrong with the book when the numbers below `count`, and no others, went in."""
        told = []
        if missing := self.missing_of(count):
            told.append(f"{self.name}: {len(missing)} of {count} lost, the first is {missing[0]}")
        if len(self.seen) > count:
            told.append(f"{self.name}: {len(self.seen) - 1} came out and never went in")
        if self.doubled and self.name == EXACT:
            told.append(f"{self.name}: {self.doubled} doubled, the first is {self.first_doubled}")
        return told
