"""POST …/records: records in as concatenated JSON, delivery reports out, both as long as it takes.

A report leaves as soon as its record and all before it are acknowledged, while the request may
still be arriving, so one request can carry a stream without end. A record that fails has a report
with its error, and the next ones go on. Only text in which no object can be found ends the stream.

Flow is bounded both ways: the reader stops while `MAX_UNREPORTED` records wait for their reports,
and a client that does not read its reports stops the writer, and by it the reader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from headrace.errors import HeadraceError
from headrace.http.refusals import Error
from headrace.rest import errors
from headrace.rest.call import Call
from headrace.rest.context import Proxy
from headrace.rest.errors import RestError
from headrace.rest.producing import Produced, ProduceFault
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.concatenated import MalformedStream, ObjectSplitter
from headrace.rest.v3.record_requests import (
    DataReport,
    Prepared,
    RecordRequest,
    prepare,
    timestamp_text,
)
from headrace.rest.v3.resources import enter
from headrace.security.users import Role

logger = logging.getLogger("kafkarest.produce")

MAX_UNREPORTED: Final = 1000
MAX_BATCH: Final = 250
"""Records that are handed to the producer together."""

MAX_STALL_S: Final = 60
MAX_DURATION_S: Final = 24 * 60 * 60

_decode: Final = msgspec.json.Decoder(RecordRequest).decode
_encode: Final = msgspec.json.Encoder().encode

Item = Prepared | RestError
table: Final = v3_table(tag="Records", writer=Role.DEVELOPER)


class Written(msgspec.Struct, kw_only=True):
    """What is told of a record that was written."""

    cluster_id: str
    topic_name: str
    partition_id: int
    offset: int
    timestamp: str | None
    key: DataReport | UnsetType = UNSET
    value: DataReport | UnsetType = UNSET


class WrittenInStream(Written, kw_only=True):
    """The same, in the stream of a request that may go on."""

    error_code: int = 200


Report = WrittenInStream | Error
W = TypeVar("W", bound=Written)


@table.post(
    "/v3/clusters/{cluster_id}/topics/{topic_name}/records",
    "Produce a stream of records",
    body=RecordRequest,
    is_stream=True,
    reply=(WrittenInStream, Error),
)
async def produce_records(call: Call) -> Response:
    _, links = await enter(call)
    return ProduceStream(call, links.cluster_id, call.path("topic_name"))


class ProduceStream(Response):
    """A response that reads its own request while it is sent."""

    def __init__(self, call: Call, cluster_id: str, topic: str) -> None:
        super().__init__(media_type=call.media_type)
        del self.headers["content-length"]
        self._request = call.request
        self._streams = call.service.streams
        self._proxy = call.proxy
        self._cluster_id = cluster_id
        self._topic = topic
        self._started = False
        self._has_records = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiting: asyncio.Queue[asyncio.Task[list[Report]] | None] = asyncio.Queue(
            MAX_UNREPORTED // MAX_BATCH
        )
        reader = asyncio.create_task(self._read(waiting))
        self._streams.add(reader)
        reader.add_done_callback(self._streams.discard)
        try:
            while (task := await waiting.get()) is not None:
                await self._send(send, await task)
            await asyncio.wait((reader,))
            if not reader.cancelled():
                reader.result()
        except ClientDisconnect:
            return
        except TimeoutError:
            logger.info("a producer read no reports for %d s and was let go", MAX_STALL_S)
            return
        finally:
            reader.cancel()
            _let_go(waiting)
        await self._end(send)

    # -- in ---------------------------------------------------------------------------------------

    async def _read(self, waiting: asyncio.Queue[asyncio.Task[list[Report]] | None]) -> None:
        """Turn what arrives into tasks that end with reports, in order."""
        try:
            async with asyncio.timeout(MAX_DURATION_S):
                async for batch in self._batches():
                    await waiting.put(asyncio.create_task(self._deliver(batch)))
        except TimeoutError:
            over = RestError(408, 408, f"a stream ends after {MAX_DURATION_S} s: begin another")
            await waiting.put(asyncio.create_task(self._deliver([over])))
        finally:
            await waiting.put(None)

    async def _batches(self) -> AsyncIterator[list[Item]]:
        """Records as they arrive, those of one chunk together; a broken stream ends with why."""
        splitter = ObjectSplitter(self._proxy.settings.request_max_bytes)
        async for chunk in self._request.stream():
            batch: list[Item] = []
            over = await self._split(splitter, chunk, batch)
            for start in range(0, len(batch), MAX_BATCH):
                yield batch[start : start + MAX_BATCH]
            if over:
                return
        try:
            splitter.finish()
        except MalformedStream as error:
            yield [self._broken(error)]
        else:
            if not self._has_records:
                yield [self._broken("Null input provided. Data is required.")]

    async def _split(self, splitter: ObjectSplitter, chunk: bytes, batch: list[Item]) -> bool:
        """Add what ends in this chunk to the batch; whether the stream is over."""
        try:
            for found in splitter.feed(chunk):
                self._has_records = True
                batch.append(await self._prepared(found))
        except MalformedStream as error:
            batch.append(self._broken(error))
            return True
        return False

    def _broken(self, reason: object) -> RestError:
        """What is told of text without records; if it is the first of all, the request failed."""
        if not self._has_records:
            self.status_code = 400
        return faults.bad_request(str(reason))

    async def _prepared(self, found: bytes | None) -> Item:
        if found is None:
            return errors.too_large(self._proxy.settings.request_max_bytes)
        try:
            return await prepare(self._proxy, self._topic, _decode(found))
        except RestError as error:
            return error
        except msgspec.ValidationError as error:
            return faults.bad_request(f"not a record: {error}")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return faults.bad_request(f"not valid JSON: {error}")

    async def _deliver(self, batch: Sequence[Item]) -> list[Report]:
        return [
            Error(item.error_code, item.message)
            if isinstance(item, RestError)
            else written(WrittenInStream, self._cluster_id, self._topic, *item)
            for item in await deliver(self._proxy, self._topic, batch)
        ]

    # -- out --------------------------------------------------------------------------------------

    async def _send(self, send: Send, reports: list[Report]) -> None:
        if not self._started:
            await self._start(send)
        body = b"".join(_encode(report) + b"\r\n" for report in reports)
        async with asyncio.timeout(MAX_STALL_S):
            await send({"type": "http.response.body", "body": body, "more_body": True})

    async def _start(self, send: Send) -> None:
        self._started = True
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )

    async def _end(self, send: Send) -> None:
        if not self._started:
            await self._start(send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _let_go(waiting: asyncio.Queue[asyncio.Task[list[Report]] | None]) -> None:
    """Nobody will read these reports; the records themselves are on their way."""
    while not waiting.empty():
        task = waiting.get_nowait()
        if task is not None:
            task.cancel()


async def deliver(
    proxy: Proxy, topic: str, batch: Sequence[Item]
) -> list[tuple[Prepared, Produced] | RestError]:
    """Produce what can be produced; every item has its outcome at its own place."""
    ready = [item for item in batch if not isinstance(item, RestError)]
    try:
        outcomes = await proxy.produce(topic, [item.record for item in ready]) if ready else []
    except HeadraceError as error:
        told = faults.of_client(error)
        return [item if isinstance(item, RestError) else told for item in batch]
    results = iter(zip(ready, outcomes, strict=True))
    told_of: list[tuple[Prepared, Produced] | RestError] = []
    for item in batch:
        if isinstance(item, RestError):
            told_of.append(item)
            continue
        prepared, outcome = next(results)
        if isinstance(outcome, ProduceFault):
            told_of.append(faults.of_librdkafka(outcome.kafka_code, outcome.message))
        else:
            told_of.append((prepared, outcome))
    return told_of


def written(
    kind: type[W],
    cluster_id: str,
    topic: str,
    prepared: Prepared,
    produced: Produced,
    **more: Any,
) -> W:
    """What is told of a record that was written."""
    return kind(
        cluster_id=cluster_id,
        topic_name=topic,
        partition_id=produced.partition,
        offset=produced.offset,
        timestamp=timestamp_text(produced.timestamp),
        key=prepared.key.told,
        value=prepared.value.told,
        **more,
    )
