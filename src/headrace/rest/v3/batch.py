"""POST …/records:batch: several records with ids of the client's, each with its own outcome."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headrace.rest.errors import RestError
from headrace.rest.openapi import Endpoint
from headrace.rest.v3 import schemas
from headrace.rest.v3.access import enter, proxy_of
from headrace.rest.v3.record_requests import RecordRequest, prepare
from headrace.rest.v3.records import (
    RECORD_FIELDS,
    REPORT_FIELDS,
    Item,
    deliver,
    failure,
    success,
)
from headrace.rest.v3.request_bodies import read_json
from headrace.rest.v3.resources import reply
from headrace.security.users import Role

MAX_ENTRIES: Final = 1000
MAX_ID_LENGTH: Final = 80
_PRODUCE_BATCH: Final = 42208
_MULTI_STATUS: Final = 207


class BatchEntry(RecordRequest, kw_only=True):
    """A record with an id that is unique within its batch."""

    id: str


class BatchRequest(msgspec.Struct):
    """Records to produce together."""

    entries: list[BatchEntry]


async def produce_batch(request: Request) -> Response:
    _, links = await enter(request)
    proxy, topic = proxy_of(request), request.path_params["topic_name"]
    asked = await read_json(request, BatchRequest, strict=True)
    _check(asked.entries)
    items: list[Item] = []
    for entry in asked.entries:
        try:
            items.append(await prepare(proxy, topic, entry))
        except RestError as error:
            items.append(error)
    successes: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    for entry, outcome in zip(asked.entries, await deliver(proxy, topic, items), strict=True):
        if isinstance(outcome, RestError):
            failures.append({"id": entry.id, **failure(outcome)})
        else:
            successes.append({"id": entry.id, **success(links.cluster_id, topic, *outcome)})
    return reply({"successes": successes, "failures": failures}, _MULTI_STATUS)


def _check(entries: list[BatchEntry]) -> None:
    """Refuse the batch as a whole where its ids cannot tell records apart."""
    if not entries:
        raise _refused("Empty batch")
    if len(entries) > MAX_ENTRIES:
        raise _refused(f"Too many entries: {len(entries)}, at most {MAX_ENTRIES} are allowed")
    for entry in entries:
        if not 0 < len(entry.id) <= MAX_ID_LENGTH:
            raise _refused(f"The id {entry.id!r} must have 1 to {MAX_ID_LENGTH} characters")
    if len({entry.id for entry in entries}) < len(entries):
        raise _refused("Entry ids are not distinct")


def _refused(reason: str) -> RestError:
    return RestError(422, _PRODUCE_BATCH, f"Produce batch: {reason}")


_ID: Final = {"type": "string", "minLength": 1, "maxLength": MAX_ID_LENGTH}
ENDPOINTS: Final = (
    Endpoint(
        "/v3/clusters/{cluster_id}/topics/{topic_name}/records:batch",
        "POST",
        produce_batch,
        "Produce a batch of records",
        "Records",
        request=schemas.struct(
            {"entries": schemas.array(schemas.struct({"id": _ID}, RECORD_FIELDS))}
        ),
        responses={
            _MULTI_STATUS: schemas.struct(
                {
                    "successes": schemas.array(schemas.struct({"id": _ID}, REPORT_FIELDS)),
                    "failures": schemas.array(
                        schemas.struct(
                            {
                                "id": _ID,
                                "error_code": schemas.INTEGER,
                                "message": schemas.STRING,
                            }
                        )
                    ),
                }
            )
        },
        errors=(400, 404, 413, 415, 422),
        role=Role.DEVELOPER,
    ),
)
