"""Running a program over topic names, all its ways at once.

After each character the program is in a set of places. Such sets are few, and the same ones come
up for one topic after the other, so what follows on which is remembered: most characters then cost
one look-up.
"""

from __future__ import annotations

from typing import Final

from headrace.coordinator.group.consumer.re2.charset import WORD
from headrace.coordinator.group.consumer.re2.program import (
    Check,
    Consume,
    Fork,
    Match,
    Place,
    Program,
)

_MAX_REMEMBERED: Final = 10_000
_EDGE: Final = ""  # what stands before the first character, and after the last

# Where the program is after a character, and which kind of character that was.
_State = tuple[frozenset[int], str]


class Pattern:
    """A compiled expression."""

    def __init__(self, program: Program) -> None:
        self._instructions = program.instructions
        self._start: _State = (frozenset({program.start}), _EDGE)
        self._steps: dict[tuple[_State, str], _State] = {}
        self._ends: dict[_State, bool] = {}

    def matches(self, text: str) -> bool:
        """Whether the expression stands for the whole of `text`."""
        state = self._start
        for char in text:
            step = (state, char)
            known = self._steps.get(step)
            if known is None:
                known = self._step(state, char)
                if len(self._steps) >= _MAX_REMEMBERED:
                    self._steps.clear()
                self._steps[step] = known
            state = known
            if not state[0]:
                return False
        accepts = self._ends.get(state)
        if accepts is None:
            if len(self._ends) >= _MAX_REMEMBERED:
                self._ends.clear()
            accepts = self._ends[state] = self._accepts(state)
        return accepts

    def _step(self, state: _State, char: str) -> _State:
        places, before = state
        after = set()
        for place in self._reach(places, before, char):
            instruction = self._instructions[place]
            if isinstance(instruction, Consume) and char in instruction.allowed:
                after.add(instruction.then)
        return frozenset(after), "w" if char in WORD else "-"

    def _accepts(self, state: _State) -> bool:
        reached = self._reach(*state, _EDGE)
        return any(isinstance(self._instructions[place], Match) for place in reached)

    def _reach(self, places: frozenset[int], before: str, after: str) -> set[int]:
        """All places that can be reached without reading a character."""
        reached: set[int] = set()
        todo = list(places)
        while todo:
            place = todo.pop()
            if place in reached:
                continue
            reached.add(place)
            match self._instructions[place]:
                case Fork(then, otherwise):
                    todo += (then, otherwise)
                case Check(what, then) if _holds(what, before, after):
                    todo.append(then)
        return reached


def _holds(place: Place, before: str, after: str) -> bool:
    match place:
        case Place.BEGIN:
            return before == _EDGE
        case Place.END:
            return after == _EDGE
        case Place.WORD_BOUNDARY:
            return (before in WORD) != (after in WORD)
        case Place.NO_WORD_BOUNDARY:
            return (before in WORD) == (after in WORD)
