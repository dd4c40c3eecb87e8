"""How the responses of shards are waited for: by a call, by a future, or as parts of an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from headrace.broker.net.call import LATER, Call
from headrace.broker.net.handler import Outcome
from headrace.errors import Error

T = TypeVar("T")


class ShardTicket(Generic[T]):
    """One request to a shard: where its response goes, and what it is if it is refused."""

    __slots__ = ("_refusal", "answer")

    def __init__(self, answer: Callable[[T], None], refusal: Callable[[Error], T]) -> None:
        self.answer = answer
        self._refusal = refusal

    def refuse(self, error: Error, /) -> None:
        self.answer(self._refusal(error))


class CallAnswer(Generic[T]):
    """The response to a call, which may be there before the handler of the call has returned."""

    __slots__ = ("_call", "_is_parked", "_response")

    def __init__(self, call: Call) -> None:
        self._call = call
        self._response: T | None = None
        self._is_parked = False

    def put(self, response: T) -> None:
        if self._is_parked:
            self._call.reply(response)
        else:
            self._response = response

    def outcome(self) -> Outcome[T]:
        """What the handler returns: the response if it is there, else LATER."""
        if self._response is not None:
            return self._response
        self._is_parked = True
        return LATER


class Gathering(Generic[T]):
    """Parts that arrive in any order; `done` is called once, with all of them in theirs."""

    __slots__ = ("_done", "_missing", "_parts")

    def __init__(self, count: int, done: Callable[[list[T]], None]) -> None:
        self._done = done
        self._missing = count
        self._parts: dict[int, T] = {}
        if not count:
            done([])

    def put(self, index: int, part: T) -> None:
        assert index not in self._parts, "each part arrives once"
        self._parts[index] = part
        self._missing -= 1
        if not self._missing:
            self._done([self._parts[each] for each in range(len(self._parts))])
