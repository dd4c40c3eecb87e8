"""WebSocket …/records:socket: records in JSON frames, flow and commits in the client's hand.

A record costs one credit. The client begins with `credit` of them, gets those back that it
acknowledges (`ack`), and may add others (`credit`); without credit nothing is sent. In a group what
was acknowledged is committed. Frames to the client: `assignment`, `records`, `pong`, `error`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from headrace.errors import HeadraceError
from headrace.http.endpoint import Endpoint, Query
from headrace.rest.call import Call
from headrace.rest.errors import RestError
from headrace.rest.live.access import open_session
from headrace.rest.live.events import SUBSCRIPTION
from headrace.rest.live.session import MAX_BATCH, Assigned, LiveRecord, Session
from headrace.rest.live.subscribing import read_subscription
from headrace.rest.v3 import faults
from headrace.security.users import Role

if TYPE_CHECKING:
    from headrace.rest.service import RestService

DEFAULT_CREDIT: Final = 500
MAX_CREDIT: Final = 100_000
MAX_FRAME_BYTES: Final = 64 << 10
MAX_STALL_S: Final = 60
_POLICY_VIOLATION: Final = 1008
_TRY_AGAIN_LATER: Final = 1013
_GOING_AWAY: Final = 1001
_PONG: Final = b'{"type":"pong"}'


class Credit(msgspec.Struct, tag="credit", tag_field="type"):
    """Send so many records more."""

    records: int


class Ack(msgspec.Struct, tag="ack", tag_field="type"):
    """Everything up to these offsets is done, by partition."""

    offsets: dict[int, int]


class Ping(msgspec.Struct, tag="ping", tag_field="type"):
    """Are you there?"""


_decode: Final = msgspec.json.Decoder(Credit | Ack | Ping).decode


async def socket_records(call: Call) -> None:
    """Accept, then serve until either side has gone."""
    websocket: WebSocket = call.request
    await websocket.accept()
    try:
        credit: int = call.query("credit")
        session = open_session(call, await read_subscription(call))
    except HeadraceError as error:
        told = call.service.refusal(error, call.endpoint)
        if told is None:
            raise
        await _send(websocket, _error(told.code, told.message))
        busy = told.status in (429, 503)
        await websocket.close(_TRY_AGAIN_LATER if busy else _POLICY_VIOLATION, told.message[:100])
        return
    try:
        await Conversation(websocket, session, credit).run()
    finally:
        session.close()


SOCKET: Final = Endpoint(
    method="GET",
    path="/v3/clusters/{cluster_id}/topics/{topic_name}/records:socket",
    summary="Follow a topic through a WebSocket",
    handle=socket_records,
    query=(
        *SUBSCRIPTION,
        Query("credit", Annotated[int, msgspec.Meta(ge=0, le=MAX_CREDIT)], default=DEFAULT_CREDIT),
    ),
    role=Role.READ_ONLY,
)
"""Not among the others, since OpenAPI has no words for it; any user may read."""


def socket_route(service: RestService) -> WebSocketRoute:
    async def converse(websocket: WebSocket) -> None:
        await socket_records(Call(service, SOCKET, websocket, ""))

    return WebSocketRoute(SOCKET.path, converse)


class Conversation:
    """One client: what it may still get, and what it has not acknowledged."""

    def __init__(self, websocket: WebSocket, session: Session, credit: int) -> None:
        self._websocket = websocket
        self._session = session
        self._credit = credit
        self._is_asked = False
        self._sent: dict[int, deque[int]] = {}

    async def run(self) -> None:
        sending = asyncio.create_task(self._send_events())
        receiving = asyncio.create_task(self._receive())
        tasks = (sending, receiving)
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in done:
            try:
                task.result()
            except (WebSocketDisconnect, TimeoutError):
                continue
        if sending in done and self._websocket.client_state is WebSocketState.CONNECTED:
            await self._websocket.close(_GOING_AWAY)

    # -- to the client ----------------------------------------------------------------------------

    async def _send_events(self) -> None:
        while True:
            self._ask()
            event = await self._session.events.get()
            if isinstance(event, RestError):
                await _send(self._websocket, _error(event.error_code, event.message))
                return
            if isinstance(event, Assigned):
                self._forget(event.partitions)
                told = {"type": "assignment", "partitions": event.partitions}
                await _send(self._websocket, msgspec.json.encode(told))
            else:
                await self._send_records(event)

    def _forget(self, kept: tuple[int, ...]) -> None:
        """What was sent of partitions that have gone will never be acknowledged here."""
        for partition in self._sent.keys() - set(kept):
            self._credit += len(self._sent.pop(partition))

    def _ask(self) -> None:
        """Want as many records as there is credit for, unless an answer is still to come."""
        if self._credit and not self._is_asked:
            self._is_asked = True
            self._session.want(min(self._credit, MAX_BATCH))

    async def _send_records(self, records: list[LiveRecord]) -> None:
        self._is_asked = False
        self._credit -= len(records)
        for record in records:
            self._sent.setdefault(record.partition, deque()).append(record.offset)
        data = b",".join(record.shown for record in records)
        await _send(self._websocket, b'{"type":"records","data":[%b]}' % data)

    # -- from the client --------------------------------------------------------------------------

    async def _receive(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            try:
                answer = self._handle(message.get("text") or message.get("bytes") or "")
            except RestError as error:
                answer = _error(error.error_code, error.message)
            if answer is not None:
                await _send(self._websocket, answer)
            self._ask()

    def _handle(self, frame: str | bytes) -> bytes | None:
        """Do what the frame says; what to answer, if anything."""
        if len(frame) > MAX_FRAME_BYTES:
            raise RestError(413, 413, f"a frame may have {MAX_FRAME_BYTES} bytes")
        try:
            said = _decode(frame)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise faults.bad_request(f"not a frame of this protocol: {error}") from None
        if isinstance(said, Ping):
            return _PONG
        if isinstance(said, Ack):
            self._acknowledge(said.offsets)
            return None
        room = MAX_CREDIT - self._credit
        if not 0 < said.records <= room:
            raise faults.bad_request(f"credit of {said.records}: allowed is 1 to {room} now")
        self._credit += said.records
        return None

    def _acknowledge(self, offsets: dict[int, int]) -> None:
        done: dict[int, int] = {}
        for partition, last in offsets.items():
            waiting = self._sent.get(partition, deque())
            while waiting and waiting[0] <= last:
                done[partition] = waiting.popleft() + 1
                self._credit += 1
        self._session.commit(done)


def _error(code: int, message: str) -> bytes:
    told: dict[str, Any] = {"type": "error", "error_code": code}
    return msgspec.json.encode({**told, "message": message})


async def _send(websocket: WebSocket, frame: bytes) -> None:
    async with asyncio.timeout(MAX_STALL_S):
        await websocket.send({"type": "websocket.send", "text": frame.decode()})
