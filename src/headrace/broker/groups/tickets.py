"""Where the replies of coordinators go: to one call, or into an answer made of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Never, TypeVar

from headrace.broker.net.call import LATER, Call
from headrace.broker.net.handler import Outcome
from headrace.errors import Error, InvariantViolated

T = TypeVar("T")
R = TypeVar("R")


class CallTicket(Generic[T]):
    """One request that one shard answers, perhaps before its handler has returned."""

    __slots__ = ("_call", "_is_parked", "_refusal", "_response")

    def __init__(self, call: Call, refusal: Callable[[Error], T]) -> None:
        self._call = call
        self._refusal = refusal
        self._response: T | None = None
        self._is_parked = False

    def answer(self, response: T) -> None:
        if self._is_parked:
            self._call.reply(response)
        else:
            self._response = response

    def refuse(self, error: Error) -> None:
        self.answer(self._refusal(error))

    def outcome(self) -> Outcome[T]:
        """What the handler returns: the response if it is there, else LATER."""
        if self._response is not None:
            return self._response
        self._is_parked = True
        return LATER


class Gathering(Generic[T, R]):
    """One request whose parts are answered by several shards."""

    def __init__(self, call: Call, parts: int, combine: Callable[[list[T]], R]) -> None:
        self._ticket: CallTicket[R] = CallTicket(call, _whole_refusal)
        self._combine = combine
        self._parts: list[T | None] = [None] * parts
        self._missing = parts
        if not parts:
            self._ticket.answer(combine([]))

    def part(self, index: int, refusal: Callable[[Error], T]) -> PartTicket[T, R]:
        return PartTicket(self, index, refusal)

    def put(self, index: int, part: T) -> None:
        assert self._parts[index] is None, "each part is answered once"
        self._parts[index] = part
        self._missing -= 1
        if not self._missing:
            self._ticket.answer(self._combine([part for part in self._parts if part is not None]))

    def outcome(self) -> Outcome[R]:
        return self._ticket.outcome()


class PartTicket(Generic[T, R]):
    """One part of a `Gathering`."""

    __slots__ = ("_gathering", "_index", "_refusal")

    def __init__(
        self, gathering: Gathering[T, R], index: int, refusal: Callable[[Error], T]
    ) -> None:
        self._gathering = gathering
        self._index = index
        self._refusal = refusal

    def answer(self, response: T) -> None:
        self._gathering.put(self._index, response)

    def refuse(self, error: Error) -> None:
        self.answer(self._refusal(error))


def _whole_refusal(error: Error) -> Never:
    raise InvariantViolated(f"parts are refused, never the whole: {error.name}")
