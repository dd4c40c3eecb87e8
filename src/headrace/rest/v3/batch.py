"""POST …/records:batch: several records with ids of the client's, each with its own outcome."""

from __future__ import annotations

from typing import Final

import msgspec

from headrace.http.refusals import Error
from headrace.rest.call import Call
from headrace.rest.errors import RestError
from headrace.rest.tables import v3_table
from headrace.rest.v3.record_requests import RecordRequest, prepare
from headrace.rest.v3.records import Item, Written, deliver, written
from headrace.rest.v3.resources import enter
from headrace.security.users import Role

table: Final = v3_table(tag="Records", writer=Role.DEVELOPER)

MAX_ENTRIES: Final = 1000
MAX_ID_LENGTH: Final = 80
_PRODUCE_BATCH: Final = 42208


class BatchEntry(RecordRequest, kw_only=True):
    """A record with an id that is unique within its batch."""

    id: str


class BatchRequest(msgspec.Struct):
    """Records to produce together."""

    entries: list[BatchEntry]


class BatchWritten(Written, kw_only=True):
    """A record that was written, by its id."""

    id: str


class BatchError(Error, kw_only=True):
    """A record that was not, by its id."""

    id: str


class BatchResponse(msgspec.Struct):
    """The outcome of each record."""

    successes: list[BatchWritten]
    failures: list[BatchError]


@table.post(
    "/v3/clusters/{cluster_id}/topics/{topic_name}/records:batch",
    "Produce a batch of records",
    body=BatchRequest,
    is_strict=True,
    reply=BatchResponse,
    status=207,
    errors=(404, _PRODUCE_BATCH),
)
async def produce_batch(call: Call) -> BatchResponse:
    _, links = await enter(call)
    proxy, topic = call.proxy, call.path("topic_name")
    entries: list[BatchEntry] = call.body.entries
    _check(entries)
    items: list[Item] = []
    for entry in entries:
        try:
            items.append(await prepare(proxy, topic, entry))
        except RestError as error:
            items.append(error)
    done = BatchResponse([], [])
    for entry, outcome in zip(entries, await deliver(proxy, topic, items), strict=True):
        if isinstance(outcome, RestError):
            done.failures.append(BatchError(outcome.error_code, outcome.message, id=entry.id))
        else:
            done.successes.append(
                written(BatchWritten, links.cluster_id, topic, *outcome, id=entry.id)
            )
    return done


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
