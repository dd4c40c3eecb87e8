"""What waits for brokers to which one request at a time is under way.

What comes meanwhile leaves together with the next request, so a busy broker sends few and large
ones. Nothing is repeated here: `send` delivers a batch and deals with its outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar


class _Letter(Protocol):
    @property
    def name(self) -> object:
        """What the answer calls it: each name may occur once in a request."""


L = TypeVar("L", bound=_Letter)


class Outbox(Generic[L]):
    """Letters for other brokers, by broker; each has a key by which it is found while it waits."""

    def __init__(self, send: Callable[[int, list[L]], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: dict[int, dict[object, L]] = {}
        self._senders: dict[int, asyncio.Task[None]] = {}

    def letter(self, broker_id: int, key: object, new: Callable[[], L]) -> L:
        """The letter of this key that waits for a broker; a new one if there is none."""
        waiting = self._waiting.setdefault(broker_id, {})
        letter = waiting.get(key)
        if letter is None:
            letter = waiting[key] = new()
        if broker_id not in self._senders:
            # The task begins on the next turn of the loop: letters of this turn leave together.
            task = asyncio.get_running_loop().create_task(self._send_all(broker_id))
            self._senders[broker_id] = task
        return letter

    async def _send_all(self, broker_id: int) -> None:
        waiting = self._waiting[broker_id]
        try:
            while waiting:
                chosen: dict[object, object] = {}
                for key, letter in waiting.items():
                    chosen.setdefault(letter.name, key)
                await self._send(broker_id, [waiting.pop(key) for key in chosen.values()])
        finally:
            del self._senders[broker_id]
