"""GET …/partitions/{p}/records: read by offset or by time; any instance can answer the next read.

The answer says where to go on, as a number and as a link. A read at the end waits in short turns,
so that a client that went away is noticed and a thread is never held for long.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Final, Literal

import msgspec

from headrace.admin.client import Admin
from headrace.http.endpoint import Query
from headrace.http.faults import BadParameter
from headrace.rest.call import Call
from headrace.rest.live.reading import ENDS, ReadRequest, ReadResult, read, resolve
from headrace.rest.live.showing import TYPES, Record, Showing, formats_of
from headrace.rest.live.subscribing import ISOLATION_LEVELS, isolation_level, time_ms
from headrace.rest.tables import v3_table
from headrace.rest.v3 import faults
from headrace.rest.v3.partitions import place_of
from headrace.rest.v3.resources import Links, enter

table: Final = v3_table(tag="Records")

DEFAULT_BYTES: Final = 1 << 20
DEFAULT_RECORDS: Final = 500
MAX_RECORDS: Final = 10_000
DEFAULT_TIMEOUT_MS: Final = 1000
MAX_TIMEOUT_MS: Final = 30_000
_TURN_MS: Final = 500
FORMATS: Final = (
    Query("format", Literal[TYPES], "Type of keys and values; AUTO looks"),
    Query("key_format", Literal[TYPES]),
    Query("value_format", Literal[TYPES]),
    Query("isolation_level", Literal[ISOLATION_LEVELS]),
)
_Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_RECORDS)]
_Wait = Annotated[int, msgspec.Meta(ge=0, le=MAX_TIMEOUT_MS)]
_Positive = Annotated[int, msgspec.Meta(ge=1)]


class PageMetadata(msgspec.Struct):
    """The address of a partition's records, and of those that follow."""

    self_url: str = msgspec.field(name="self")
    next: str


class KafkaRecordList(msgspec.Struct, tag_field="kind"):
    """What was read, and where to go on."""

    metadata: PageMetadata
    cluster_id: str
    topic_name: str
    partition_id: int
    next_offset: int
    high_watermark: int
    log_start_offset: int
    data: list[Record]


@table.get(
    "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions/{partition_id:int}/records",
    "Read records of a partition by offset or by time",
    query=(
        Query("offset", about="A number, earliest (the default) or latest"),
        Query("timestamp", about="Milliseconds, or a date with a time"),
        Query("max_bytes", _Positive, default=DEFAULT_BYTES),
        Query("max_records", _Count, default=DEFAULT_RECORDS),
        Query(
            "timeout_ms", _Wait, "How long to wait for a first record", default=DEFAULT_TIMEOUT_MS
        ),
        *FORMATS,
    ),
    reply=KafkaRecordList,
    errors=(400, 404, 416),
)
async def read_records(call: Call) -> KafkaRecordList:
    _, links = await enter(call)
    end = time.monotonic() + call.query("timeout_ms") / 1000
    showing = Showing(formats_of(call.request.query_params), call.proxy.serdes)
    asked = await _asked(call)
    while True:
        left_ms = max(0, int((end - time.monotonic()) * 1000))

        def question(
            admin: Admin, asked: ReadRequest = asked, wait_ms: int = min(left_ms, _TURN_MS)
        ) -> tuple[ReadResult, list[bytes]]:
            result = read(admin, asked, max_wait_ms=wait_ms)
            return result, [showing.show(record) for record in result.records]

        result, shown = await call.service.reads.ask(question)
        if shown or left_ms == 0 or await call.request.is_disconnected():
            return _page(call, links, result, shown)
        # Nothing to show may still be progress, past markers and aborted records.
        asked = asked._replace(offset=result.next_offset)


async def _asked(call: Call) -> ReadRequest:
    query = call.request.query_params
    place = place_of(call)
    read_committed = isolation_level(query.get("isolation_level")) == ISOLATION_LEVELS[0]
    offset_text, time_text = query.get("offset"), query.get("timestamp")
    if offset_text is not None and time_text is not None:
        raise faults.bad_request("only one of offset and timestamp can be given")
    if time_text is None and offset_text not in (None, *ENDS):
        offset = _offset(offset_text)
    else:
        at = (
            ENDS[offset_text or "earliest"]
            if time_text is None
            else time_ms("timestamp", time_text)
        )
        offset = await call.service.reads.ask(
            lambda admin: resolve(admin, place, timestamp_ms=at, read_committed=read_committed)
        )
    most = call.proxy.settings.consumer_request_max_bytes
    max_bytes: int = call.query("max_bytes")
    if max_bytes > most and "max_bytes" in query:
        raise BadParameter("max_bytes", query["max_bytes"], f"allowed is 1 to {most}")
    return ReadRequest(
        place, offset, min(max_bytes, most), call.query("max_records"), read_committed
    )


def _offset(text: str | None) -> int:
    if text is None or not (text.isascii() and text.isdecimal()) or int(text) >= 1 << 63:
        raise BadParameter("offset", text, "a number, earliest or latest is needed")
    return int(text)


def _page(call: Call, links: Links, result: ReadResult, shown: list[bytes]) -> KafkaRecordList:
    topic, partition = place_of(call)
    url = links.url("topics", topic, "partitions", partition, "records")
    following = call.request.url.remove_query_params(["offset", "timestamp"]).include_query_params(
        offset=result.next_offset
    )
    # Encoded on the thread that read them: the bytes of each are a `Record`.
    data: list[Any] = [msgspec.Raw(each) for each in shown]
    return KafkaRecordList(
        PageMetadata(url, f"{url}?{following.query}"),
        links.cluster_id,
        topic,
        partition,
        result.next_offset,
        result.high_watermark,
        result.log_start_offset,
        data,
    )
