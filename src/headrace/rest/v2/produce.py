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

from headrace.client.registry import SchemaChoice, Writer
from headrace.errors import Error
from headrace.rest import errors
from headrace.rest.answers import acceptable, answer, path_number, path_topic, proxy_of
from headrace.rest.bodies import decode, read_body
from headrace.rest.formats import (
    DECODERS,
    SCHEMA_TYPES,
    SchemaProduceRequest,
    encode_binary,
    encode_by_schema,
    encode_json,
)
from headrace.rest.kafka_faults import UNKNOWN_PARTITION, UNKNOWN_TOPIC
from headrace.rest.media_types import (
    ANSWERS,
    V1_EMBEDDED,
    V2_EMBEDDED,
    EmbeddedFormat,
    embedded_type,
)
from headrace.rest.numbers import number_of
from headrace.rest.openapi import Endpoint
from headrace.rest.producing import Outcome, OutRecord, Produced, ProduceFault
from headrace.rest.registry_faults import translated
from headrace.schemas.model import SchemaType
from headrace.security.users import Role

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from headrace.rest.context import Proxy

LARGE_BYTES: Final = 64 << 10
"""A body from this size on is encoded in a thread, so that other requests do not wait for it."""
_NO_TOPIC: Final = (UNKNOWN_TOPIC, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.INVALID_TOPIC_EXCEPTION)


class PartitionOffset(msgspec.Struct):
    """Where a record is, or why it is nowhere."""

    partition: int | None
    offset: int | None
    error_code: int | None = None
    error: str | None = None


class ProduceResponse(msgspec.Struct):
    offsets: list[PartitionOffset]
    key_schema_id: int | None
    value_schema_id: int | None


async def produce_to_topic(request: Request) -> Response:
    return await _produce(request, None)


async def produce_to_partition(request: Request) -> Response:
    return await _produce(request, path_number(request, "partition_id"))


async def _produce(request: Request, partition: int | None) -> Response:
    proxy, topic = proxy_of(request), path_topic(request)
    _, embedded = embedded_type(request)
    acceptable(request)
    body = await read_body(request, proxy.settings)
    asked = decode(DECODERS[embedded], body)
    key = value = None
    records: list[OutRecord]
    if embedded in SCHEMA_TYPES:
        key, value = await _writers(proxy, topic, asked, SCHEMA_TYPES[embedded])
        with translated():
            records = await _encoded(
                len(body), encode_by_schema, asked.records, partition, key, value
            )
    elif embedded is EmbeddedFormat.JSON:
        try:
            records = await _encoded(len(body), encode_json, asked.records, partition)
        except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as error:
            raise errors.malformed(str(error)) from None
    else:
        records = encode_binary(asked.records, partition)
    outcomes = await proxy.produce(topic, records)
    _check_place(outcomes, partition)
    response = ProduceResponse(
        [_told(outcome) for outcome in outcomes],
        number_of(asked.key_schema_id) if key is None else key.schema_id,
        number_of(asked.value_schema_id) if value is None else value.schema_id,
    )
    return answer(request, response, _status(outcomes))


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


def _told(outcome: Outcome) -> PartitionOffset:
    if isinstance(outcome, Produced):
        return PartitionOffset(outcome.partition, outcome.offset)
    return PartitionOffset(None, None, outcome.error_code, outcome.message)


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


_NULLABLE_INT: Final = {"type": ["integer", "null"]}
_NULLABLE_TEXT: Final = {"type": ["string", "null"]}
_HEADERS: Final = {
    "type": ["array", "null"],
    "items": {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {"name": {"type": "string"}, "value": _NULLABLE_TEXT},
    },
}
_REQUEST: Final = {
    "type": "object",
    "required": ["records"],
    "additionalProperties": False,
    "properties": {
        "key_schema": _NULLABLE_TEXT,
        "key_schema_id": _NULLABLE_INT,
        "value_schema": _NULLABLE_TEXT,
        "value_schema_id": _NULLABLE_INT,
        "records": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "key": {},
                    "value": {},
                    "partition": _NULLABLE_INT,
                    "headers": _HEADERS,
                    "timestamp": _NULLABLE_INT,
                },
            },
        },
    },
}
_RESPONSE: Final = {
    "type": "object",
    "required": ["offsets", "key_schema_id", "value_schema_id"],
    "properties": {
        "offsets": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["partition", "offset", "error_code", "error"],
                "properties": {
                    "partition": _NULLABLE_INT,
                    "offset": _NULLABLE_INT,
                    "error_code": _NULLABLE_INT,
                    "error": _NULLABLE_TEXT,
                },
            },
        },
        "key_schema_id": _NULLABLE_INT,
        "value_schema_id": _NULLABLE_INT,
    },
}


def _post(path: str, handler: Any, summary: str) -> Endpoint:
    return Endpoint(
        path,
        "POST",
        handler,
        summary,
        "Records (v2)",
        request=_REQUEST,
        request_types=(*V2_EMBEDDED, *V1_EMBEDDED),
        responses={200: _RESPONSE},
        response_types=ANSWERS,
        errors=(400, 401, 403, 404, 406, 408, 413, 415, 422, 429, 500, 503),
        role=Role.DEVELOPER,
    )


ENDPOINTS: Final = (
    _post("/topics/{topic_name}", produce_to_topic, "Send records"),
    _post(
        "/topics/{topic_name}/partitions/{partition_id}",
        produce_to_partition,
        "Send records to a partition",
    ),
)
