"""POST /topics/{topic} and …/partitions/{partition}: send records in an embedded format.

The media type of the body says the format, and whether it is version 1 or 2; the answers are the
same. A record that Kafka refuses is told in its place of `offsets`, and the status stays 200; the
request as a whole fails only if no record can have been sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response

from headrace.client.registry import SchemaChoice, Writer
from headrace.errors import Error
from headrace.http.faults import NotJson
from headrace.rest import errors
from headrace.rest.call import Call
from headrace.rest.formats import (
    PRODUCE_REQUESTS,
    SCHEMA_TYPES,
    SchemaProduceRequest,
    encode_binary,
    encode_by_schema,
    encode_json,
)
from headrace.rest.kafka_faults import UNKNOWN_PARTITION, UNKNOWN_TOPIC
from headrace.rest.media_types import EmbeddedFormat, format_of
from headrace.rest.numbers import number_of
from headrace.rest.producing import Outcome, OutRecord, Produced, ProduceFault
from headrace.rest.registry_faults import translated
from headrace.rest.tables import v2_table
from headrace.schemas.model import SchemaType
from headrace.security.users import Role

if TYPE_CHECKING:
    from headrace.rest.context import Proxy

table: Final = v2_table(
    tag="Records (v2)",
    writer=Role.DEVELOPER,
    body=PRODUCE_REQUESTS,
    is_strict=True,
    errors=(404, 422),
)
LARGE_BYTES: Final = 64 << 10
"""A body from this size on is encoded in a thread, so that other requests do not wait for it."""
_NO_TOPIC: Final = (UNKNOWN_TOPIC, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.INVALID_TOPIC_EXCEPTION)


class RecordOffset(msgspec.Struct):
    """Where a record is, or why it is nowhere."""

    partition: int | None
    offset: int | None
    error_code: int | None = None
    error: str | None = None


class ProduceResponse(msgspec.Struct):
    offsets: list[RecordOffset]
    key_schema_id: int | None
    value_schema_id: int | None


@table.post("/topics/{topic_name}", "Send records", reply=ProduceResponse)
async def produce_to_topic(call: Call) -> Response:
    return await _produce(call, None)


@table.post(
    "/topics/{topic_name}/partitions/{partition_id}",
    "Send records to a partition",
    reply=ProduceResponse,
)
async def produce_to_partition(call: Call) -> Response:
    return await _produce(call, call.partition)


async def _produce(call: Call, partition: int | None) -> Response:
    proxy, topic, asked = call.proxy, call.topic, call.body
    embedded, size = format_of(call.body_type), len(call.raw)
    key = value = None
    records: list[OutRecord]
    if embedded in SCHEMA_TYPES:
        key, value = await _writers(proxy, topic, asked, SCHEMA_TYPES[embedded])
        with translated():
            records = await _encoded(size, encode_by_schema, asked.records, partition, key, value)
    elif embedded is EmbeddedFormat.JSON:
        try:
            records = await _encoded(size, encode_json, asked.records, partition)
        except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
            raise NotJson(str(error)) from None
    else:
        records = encode_binary(asked.records, partition)
    outcomes = await proxy.produce(topic, records)
    _check_place(outcomes, partition)
    response = ProduceResponse(
        [_told(outcome) for outcome in outcomes],
        number_of(asked.key_schema_id) if key is None else key.schema_id,
        number_of(asked.value_schema_id) if value is None else value.schema_id,
    )
    return call.respond(response, _status(outcomes))


async def _encoded(size: int, encode: Any, *arguments: Any) -> list[OutRecord]:
    if size < LARGE_BYTES:
        records: list[OutRecord] = encode(*arguments)
    else:
        records = await asyncio.get_running_loop().run_in_executor(None, encode, *arguments)
    return records


async def _writers(
    proxy: Proxy, topic: str, asked: SchemaProduceRequest, kind: SchemaType
) -> tuple[Writer | None, Writer | None]:
    """What encodes keys and values; a schema is needed for whichever of them there are."""
    key_choice = _choice(asked.key_schema, number_of(asked.key_schema_id), kind)
    value_choice = _choice(asked.value_schema, number_of(asked.value_schema_id), kind)
    if key_choice is None and any(record.key is not None for record in asked.records):
        raise errors.key_schema_missing()
    if value_choice is None and any(record.value is not None for record in asked.records):
        raise errors.value_schema_missing()
    key = await proxy.writer(topic, True, key_choice) if key_choice is not None else None
    value = await proxy.writer(topic, False, value_choice) if value_choice is not None else None
    return key, value


def _choice(text: str | None, schema_id: int | None, kind: SchemaType) -> SchemaChoice | None:
    if text is not None:
        return SchemaChoice(kind, text=text)
    if schema_id is not None:
        return SchemaChoice(kind, schema_id=schema_id)
    return None


def _told(outcome: Outcome) -> RecordOffset:
    if isinstance(outcome, Produced):
        return RecordOffset(outcome.partition, outcome.offset)
    return RecordOffset(None, None, outcome.error_code, outcome.message)


def _check_place(outcomes: Sequence[Outcome], partition: int | None) -> None:
    """Whether the topic of the path exists, and its partition: then no record can be anywhere."""
    codes = {each.kafka_code if isinstance(each, ProduceFault) else 0 for each in outcomes}
    if codes <= set(_NO_TOPIC):
        raise errors.topic_not_found()
    if codes == {UNKNOWN_PARTITION} and partition is not None:
        raise errors.partition_not_found()


def _status(outcomes: Sequence[Outcome]) -> int:
    for outcome in outcomes:
        if isinstance(outcome, ProduceFault):
            if outcome.error_code == errors.KAFKA_AUTHENTICATION:
                return 401
            if outcome.error_code == errors.KAFKA_AUTHORIZATION:
                return 403
    return 200
