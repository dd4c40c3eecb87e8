"""GET …/records:events: records as server-sent events, for as long as the client listens.

The id of an event is the last offset of every partition seen so far, so a browser that reconnects
goes on where it was. Silence is filled with comments, by which proxies keep the connection and the
loss of the client is noticed. The next batch is asked for when the last one has left, so a slow
reader slows down the log and not the memory; one that takes nothing for a minute is let go.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Final

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.http.endpoint import Query
from headrace.http.refusals import Error
from headrace.rest.call import Call
from headrace.rest.errors import RestError
from headrace.rest.live.access import open_session
from headrace.rest.live.session import MAX_BATCH, Assigned, LiveRecord, Session, Subscription
from headrace.rest.live.stateless import FORMATS
from headrace.rest.live.subscribing import positions_text, read_subscription
from headrace.rest.tables import v3_table

logger = logging.getLogger("kafkarest.live")

MAX_STALL_S: Final = 60
DEFAULT_KEEP_ALIVE_MS: Final = 15_000
RETRY_MS: Final = 3000
_MEDIA_TYPE: Final = "text/event-stream"
_WITHOUT_END: Final = (1 << 63) - 1
_Silence = Annotated[int, msgspec.Meta(ge=100, le=60_000)]
_Count = Annotated[int, msgspec.Meta(ge=1, le=_WITHOUT_END)]
SUBSCRIPTION: Final = (
    Query("from", about="earliest, latest, a time, or positions such as 0:15,1:7"),
    Query("group", about="Read as a member of this consumer group, with commits"),
    Query("partitions", about="Only these, such as 0,2; not with a group"),
    *FORMATS,
)
table: Final = v3_table(tag="Records", gives=(_MEDIA_TYPE,))


@table.get(
    "/v3/clusters/{cluster_id}/topics/{topic_name}/records:events",
    "Follow a topic as server-sent events",
    query=(
        *SUBSCRIPTION,
        Query("max_records", _Count, "End after this number of records"),
        Query(
            "keep_alive_ms",
            _Silence,
            "Silence before a comment is sent",
            default=DEFAULT_KEEP_ALIVE_MS,
        ),
    ),
    reply=str,
)
async def follow_records(call: Call) -> Response:
    if call.request.method == "HEAD":
        return Response(media_type=_MEDIA_TYPE)
    keep_alive_ms: int = call.query("keep_alive_ms")
    max_records: int = call.query("max_records") or _WITHOUT_END
    subscription = await read_subscription(call)
    session = open_session(call, subscription)
    return EventStream(session, subscription, keep_alive_ms / 1000, max_records)


class EventStream(Response):
    """A response that ends with its client, its session, or its last record."""

    def __init__(
        self, session: Session, subscription: Subscription, keep_alive_s: float, max_records: int
    ) -> None:
        super().__init__(
            media_type=_MEDIA_TYPE,
            headers={"cache-control": "no-cache", "x-accel-buffering": "no"},
        )
        del self.headers["content-length"]
        self._session = session
        self._keep_alive_s = keep_alive_s
        self._left = max_records
        # Where the client begins counts for the ids of events to come, so that it can come back.
        self._seen = {
            partition: offset - 1 for partition, offset in subscription.starts.items() if offset
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            streaming = asyncio.create_task(self._stream(send))
            gone = asyncio.create_task(_await_disconnect(receive))
            done, _ = await asyncio.wait((streaming, gone), return_when=asyncio.FIRST_COMPLETED)
            for task in (streaming, gone):
                task.cancel()
            await asyncio.wait((streaming, gone))
            if streaming in done:
                streaming.result()
        except TimeoutError:
            logger.info("a reader took nothing for %d s and was let go", MAX_STALL_S)
        finally:
            self._session.close()

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await _write(send, b"retry: %d\n\n" % RETRY_MS)
        while self._left:
            self._session.want(min(self._left, MAX_BATCH))
            try:
                async with asyncio.timeout(self._keep_alive_s):
                    event = await self._session.events.get()
            except TimeoutError:
                await _write(send, b": keep-alive\n\n")
                continue
            if isinstance(event, RestError):
                await _write(send, _error(event))
                break
            if not isinstance(event, Assigned):
                await self._records(send, event)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _records(self, send: Send, records: list[LiveRecord]) -> None:
        frames = []
        for record in records:
            self._seen[record.partition] = record.offset
            place = positions_text(self._seen).encode()
            frames.append(b"event: record\nid: %b\ndata: %b\n\n" % (place, record.shown))
        await _write(send, b"".join(frames))
        self._left -= len(records)
        # What was written counts as read: a stream has no way to say more.
        self._session.commit({record.partition: record.offset + 1 for record in records})


def _error(error: RestError) -> bytes:
    told = msgspec.json.encode(Error(error.error_code, error.message))
    return b"event: error\ndata: %b\n\n" % told


async def _write(send: Send, body: bytes) -> None:
    async with asyncio.timeout(MAX_STALL_S):
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _await_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
