"""Where the replies of coordinators go: to one call, or into an answer made of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from headrace.broker.call import LATER, Call
from headrace.broker.dispatch import Answer, reply
from headrace.errors import Error

T = TypeVar("T")


class CallTicket:
    """One request that one shard answers, perhaps before its handler has returned."""

    __slots__ = ("_call", "_is_parked", "_refusal", "_response")

    def __init__(self, call: Call, refusal: Callable[[Error], Any]) -> None:
        self._call = call
        self._refusal = refusal
        self._response: Any = None
        self._is_parked = False

    def answer(self, response: Any) -> None:
        if self._is_parked:
            reply(self._call, response)
        else:
            self._response = response

    def refuse(self, error: Error) -> None:
        self.answer(self._refusal(error))

    def outcome(self) -> Answer:
        """What the handler returns: the response if it is there, else LATER."""
        if self._response is not None:
            return self._response
        self._is_parked = True
        return LATER


class Gathering(Generic[T]):
    """One request whose parts are answered by several shards."""

    def __init__(self, call: Call, parts: int, combine: Callable[[list[T]], Any]) -> None:
        self._ticket = CallTicket(call, lambda error: error)
        self._combine = combine
        self._parts: list[T | None] = [None] * parts
        self._missing = parts
        if not parts:
            self._ticket.answer(combine([]))

    def part(self, index: int, refusal: Callable[[Error], T]) -> PartTicket[T]:
        return PartTicket(self, index, refusal)

    def put(self, index: int, part: T) -> None:
        assert self._parts[index] is None, "each part is answered once"
        self._parts[index] = part
        self._missing -= 1
        if not self._missing:
            self._ticket.answer(self._combine([part for part in self._parts if part is not None]))

    def outcome(self) -> Answer:
        return self._ticket.outcome()


class PartTicket(Generic[T]):
    """One part of a `Gathering`."""

    __slots__ = ("_gathering", "_index", "_refusal")

    def __init__(self, gathering: Gathering[T], index: int, refusal: Callable[[Error], T]) -> None:
        self._gathering = gathering
        self._index = index
        self._refusal = refusal

    def answer(self, response: T) -> None:
        self._gathering.put(self._index, response)

    def refuse(self, error: Error) -> None:
        self.answer(self._refusal(error))
