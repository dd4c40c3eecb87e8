"""Requests whose decoding or answering would hold up everybody: done a piece at a time.

A frame of some kilobytes can name so many topics or groups that decoding it takes a tenth of a
second and answering it more than a second. Such a request is decoded on the thread of
`inspections`, its items are answered in portions, one portion of all such requests in a turn of
the event loop, and the response is encoded on the thread again. Until it is answered, nothing else
of its connection is served.

A request that cannot be cut has a limit of items, and its connection is closed beyond it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import fields, is_dataclass
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final

from headrace.broker.net.call import LATER, Call, PortionCall
from headrace.broker.net.connection import MAX_HELD_BYTES, Connection
from headrace.errors import HeadraceError
from headrace.runtime.steps import Steps
from headrace.types import Buffer
from headrace.wire.header import decode_request_header, encode_response
from headrace.wire.schema import Decoder

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from headrace.broker.net.handler import AnyHandler, Bound
    from headrace.broker.net.inspections import Inspections

MOST_ITEMS: Final = 20_000
"""The limit of a request that is answered in one piece."""
_TIMEOUT_MS: Final = 60_000  # for the thread, which the client shares with others


class TooManyItems(HeadraceError):
    """A request has more items than can be answered in one piece."""


class LargeRequests:
    """See the module; one object for all connections of a broker."""

    def __init__(self, inspections: Inspections, loop: asyncio.AbstractEventLoop) -> None:
        self._inspections = inspections
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    @staticmethod
    def expect(call: Call) -> None:
        """Serve nothing else of the connection until `call` is answered."""
        call.held_bytes = MAX_HELD_BYTES
        call.connection.expect(call)

    async def decode(
        self, connection: Connection, handler: AnyHandler, decode: Decoder, frame: bytes | bytearray
    ) -> tuple[str | None, DataclassInstance]:
        """The client's id and the request. HeadraceError: it is malformed or has too many items."""
        steps = _decoded(handler, decode, frame)
        return await self._inspections.run(connection, steps, _TIMEOUT_MS)

    async def answer(self, bound: Bound, request: DataclassInstance, call: Call) -> object:
        """The response of a handler, asked for a portion at a time."""
        portions = bound.handler.portions
        if portions is None:
            return await self._ask(bound, request, call)
        responses: list[Any] = []
        for portion in portions.cut(request):
            await self._turn()
            responses.append(await self._ask(bound, portion, call))
        # Without acknowledgement a produce has no response.
        return None if responses[0] is None else portions.join(responses)

    async def encode(self, call: Call, response: object) -> list[Buffer]:
        """The chunks of a response."""
        steps = _encoded(call, response)
        return await self._inspections.run(call.connection, steps, _TIMEOUT_MS)

    async def _ask(self, bound: Bound, request: object, call: Call) -> object:
        part = PortionCall(call, self._loop.create_future())
        try:
            answer = bound.handle(request, part)
            if type(answer) is CoroutineType:
                answer = await answer
            if answer is LATER:
                answer = await part.outcome
        except asyncio.CancelledError:
            if part.on_abandoned is not None:
                part.on_abandoned()
            raise
        return answer

    async def _turn(self) -> None:
        """Wait until it is this request's turn: one portion in each turn of the event loop."""
        loop = self._loop
        mine = loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            loop.call_soon(self._next)
        await mine

    def _next(self) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                break
        if self._waiting:
            self._loop.call_soon(self._next)


def _decoded(
    handler: AnyHandler, decode: Decoder, frame: bytes | bytearray
) -> Steps[tuple[str | None, DataclassInstance]]:
    header, position = decode_request_header(frame, 0, handler.request)
    request, _ = decode(frame, position, memoryview(frame))
    yield
    if _largest_piece(handler, request) > MOST_ITEMS:
        raise TooManyItems(
            f"{handler.name} has more than {MOST_ITEMS} items: split it into several requests"
        )
    return header.client_id, request


def _encoded(call: Call, response: object) -> Steps[list[Buffer]]:
    yield
    return encode_response(call.correlation_id, call.version, response)


def _largest_piece(handler: AnyHandler, request: DataclassInstance) -> int:
    """The items of what must be answered in one piece."""
    portions = handler.portions
    items = getattr(request, portions.asked) if portions is not None else None
    if portions is None or not items:
        return count_items(request)
    if portions.partitions is not None or not is_dataclass(items[0]):
        return 0
    return max(map(count_items, items))


def count_items(message: DataclassInstance) -> int:
    """How many items the lists of a message have, and the lists inside of them."""
    count = 0
    for field in fields(message):
        value = getattr(message, field.name)
        if type(value) is list:
            count += len(value)
            if value and is_dataclass(value[0]):
                count += sum(map(count_items, value))
    return count
