"""GET …/partitions/{p}/records: read by offset or by time; any instance can answer the next read.

The answer says where to go on, as a number and as a link. A read at the end waits in short turns,
so that a client that went away is noticed and a thread is never held for long.
"""

from __future__ import annotations

import time
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headrace.client.cluster import Cluster
from headrace.rest.live.access import read_calls
from headrace.rest.live.reading import ENDS, ReadRequest, ReadResult, read, resolve
from headrace.rest.live.showing import TYPES, Showing, formats_of
from headrace.rest.live.subscribing import ISOLATION_LEVELS, isolation_level, time_ms
from headrace.rest.openapi import Endpoint, Parameter
from headrace.rest.v3 import faults, schemas
from headrace.rest.v3.access import enter, proxy_of
from headrace.rest.v3.partitions import place_of
from headrace.rest.v3.request_bodies import query_int
from headrace.rest.v3.resources import Links
from headrace.types import TopicPartition

DEFAULT_BYTES: Final = 1 << 20
DEFAULT_RECORDS: Final = 500
MAX_RECORDS: Final = 10_000
DEFAULT_TIMEOUT_MS: Final = 1000
MAX_TIMEOUT_MS: Final = 30_000
_TURN_MS: Final = 500


async def read_records(request: Request) -> Response:
    _, links = await enter(request)
    proxy, calls = proxy_of(request), read_calls(request.app)
    timeout_ms = query_int(request, "timeout_ms", DEFAULT_TIMEOUT_MS, most=MAX_TIMEOUT_MS)
    end = time.monotonic() + timeout_ms / 1000
    showing = Showing(formats_of(request.query_params), proxy.serdes)
    asked = await _asked(request, proxy.settings.consumer_request_max_bytes)
    while True:
        left_ms = max(0, int((end - time.monotonic()) * 1000))

        def question(
            cluster: Cluster, asked: ReadRequest = asked, wait_ms: int = min(left_ms, _TURN_MS)
        ) -> tuple[ReadResult, list[bytes]]:
            result = read(cluster, asked, max_wait_ms=wait_ms)
            return result, [showing.show(record) for record in result.records]

        result, shown = await calls.ask(question)
        if shown or left_ms == 0 or await request.is_disconnected():
            return Response(_body(request, links, result, shown), media_type="application/json")
        # Nothing to show may still be progress, past markers and aborted records.
        asked = asked._replace(offset=result.next_offset)


async def _asked(request: Request, max_bytes: int) -> ReadRequest:
    query = request.query_params
    place = TopicPartition(*place_of(request))
    read_committed = isolation_level(query.get("isolation_level")) == ISOLATION_LEVELS[0]
    offset_text, time_text = query.get("offset"), query.get("timestamp")
    if offset_text is not None and time_text is not None:
        raise faults.bad_request("only one of offset and timestamp can be given")
    if time_text is None and offset_text not in (None, *ENDS):
        offset = query_int(request, "offset", 0)
    else:
        at = (
            ENDS[offset_text or "earliest"]
            if time_text is None
            else time_ms("timestamp", time_text)
        )
        offset = await read_calls(request.app).ask(
            lambda cluster: resolve(cluster, place, timestamp_ms=at, read_committed=read_committed)
        )
    return ReadRequest(
        place,
        offset,
        query_int(request, "max_bytes", min(DEFAULT_BYTES, max_bytes), least=1, most=max_bytes),
        query_int(request, "max_records", DEFAULT_RECORDS, least=1, most=MAX_RECORDS),
        read_committed,
    )


def _body(request: Request, links: Links, result: ReadResult, shown: list[bytes]) -> bytes:
    topic, partition = place_of(request)
    url = links.url("topics", topic, "partitions", partition, "records")
    following = request.url.remove_query_params(["offset", "timestamp"]).include_query_params(
        offset=result.next_offset
    )
    return msgspec.json.encode(
        {
            "kind": "KafkaRecordList",
            "metadata": {"self": url, "next": f"{url}?{following.query}"},
            "cluster_id": links.cluster_id,
            "topic_name": topic,
            "partition_id": partition,
            "next_offset": result.next_offset,
            "high_watermark": result.high_watermark,
            "log_start_offset": result.log_start_offset,
            "data": [msgspec.Raw(each) for each in shown],
        }
    )


_PART: Final = {
    "type": ["object", "null"],
    "required": ["type", "data"],
    "properties": {
        "type": schemas.STRING,
        "schema_id": schemas.INTEGER,
        "data": schemas.ANY,
        "error": schemas.STRING,
    },
}
RECORD: Final = schemas.struct(
    {
        "partition_id": schemas.INTEGER,
        "offset": schemas.INTEGER,
        "timestamp": schemas.TEXT_OR_NULL,
        "headers": schemas.array(
            schemas.struct({"name": schemas.STRING, "value": schemas.TEXT_OR_NULL})
        ),
        "key": _PART,
        "value": _PART,
    }
)
FORMAT_PARAMETERS: Final = (
    Parameter("format", {"enum": list(TYPES)}, "Type of keys and values; AUTO looks"),
    Parameter("key_format", {"enum": list(TYPES)}),
    Parameter("value_format", {"enum": list(TYPES)}),
    Parameter("isolation_level", {"enum": list(ISOLATION_LEVELS)}),
)
ENDPOINTS: Final = (
    Endpoint(
        "/v3/clusters/{cluster_id}/topics/{topic_name}/partitions/{partition_id:int}/records",
        "GET",
        read_records,
        "Read records of a partition by offset or by time",
        "Records",
        parameters=(
            Parameter("offset", summary="A number, earliest (the default) or latest"),
            Parameter("timestamp", summary="Milliseconds, or a date with a time"),
            Parameter("max_bytes", schemas.INTEGER),
            Parameter("max_records", schemas.INTEGER),
            Parameter("timeout_ms", schemas.INTEGER, "How long to wait for a first record"),
            *FORMAT_PARAMETERS,
        ),
        responses={
            200: schemas.struct(
                {
                    "kind": {"const": "KafkaRecordList"},
                    "metadata": schemas.struct({"self": schemas.STRING, "next": schemas.STRING}),
                    "cluster_id": schemas.STRING,
                    "topic_name": schemas.STRING,
                    "partition_id": schemas.INTEGER,
                    "next_offset": schemas.INTEGER,
                    "high_watermark": schemas.INTEGER,
                    "log_start_offset": schemas.INTEGER,
                    "data": schemas.array(RECORD),
                }
            )
        },
        errors=(400, 404, 416),
    ),
)
