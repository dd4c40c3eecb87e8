"""From the tree of an expression to a program for the matcher.

    CONSUME   goes on if the next character is in a set
    ASSERT    goes on if what stands before and after the position is right
    FORK      goes on in two places
    MATCH     all of the expression has been seen

Repetitions with numbers are written out, so their product is limited.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from headrace.coordinator.group.consumer.re2.charset import CharSet

MAX_INSTRUCTIONS: Final = 10_000


class InvalidRegex(ValueError):
    """The text is not an expression in the syntax of RE2, or too large to be run."""


class Place(Enum):
    """What an assertion asks of its position."""

    BEGIN = "^"
    END = "$"
    WORD_BOUNDARY = "b"
    NO_WORD_BOUNDARY = "B"


class Chars(NamedTuple):
    allowed: CharSet


class Assert(NamedTuple):
    place: Place


class Sequenced(NamedTuple):
    parts: tuple[Node, ...]


class Alternatives(NamedTuple):
    branches: tuple[Node, ...]


class Repeat(NamedTuple):
    body: Node
    at_least: int
    at_most: int | None


Node: TypeAlias = Chars | Assert | Sequenced | Alternatives | Repeat


class Consume(NamedTuple):
    allowed: CharSet
    then: int


class Check(NamedTuple):
    place: Place
    then: int


class Fork(NamedTuple):
    then: int
    otherwise: int


class Match(NamedTuple):
    pass


Instruction: TypeAlias = Consume | Check | Fork | Match


class Program(NamedTuple):
    instructions: Sequence[Instruction]
    start: int


def compile_program(node: Node) -> Program:
    """The program that matches what the tree describes."""
    instructions: list[Instruction] = [Match()]
    start = _emit(node, 0, instructions)
    return Program(instructions, start)


def _emit(node: Node, then: int, out: list[Instruction]) -> int:
    """Write the program of `node`, going on at `then`; where it begins."""
    match node:
        case Chars(allowed):
            return _add(Consume(allowed, then), out)
        case Assert(place):
            return _add(Check(place, then), out)
        case Sequenced(parts):
            for part in reversed(parts):
                then = _emit(part, then, out)
            return then
        case Alternatives(branches):
            start = _emit(branches[-1], then, out)
            for branch in reversed(branches[:-1]):
                start = _add(Fork(_emit(branch, then, out), start), out)
            return start
        case Repeat(body, at_least, at_most):
            return _emit_repeat(body, at_least, at_most, then, out)


def _emit_repeat(
    body: Node, at_least: int, at_most: int | None, then: int, out: list[Instruction]
) -> int:
    if at_most is None:
        loop = _add(Fork(then, then), out)  # its first way is known once the body is written
        out[loop] = Fork(_emit(body, loop, out), then)
        start = loop
    else:
        start = then
        for _ in range(at_most - at_least):
            start = _add(Fork(_emit(body, start, out), then), out)
    for _ in range(at_least):
        # An empty body writes nothing, which must not take a thousand times as long.
        before = start
        start = _emit(body, start, out)
        if start == before:
            break
    return start


def _add(instruction: Instruction, out: list[Instruction]) -> int:
    if len(out) >= MAX_INSTRUCTIONS:
        raise InvalidRegex("expression too large")
    out.append(instruction)
    return len(out) - 1
