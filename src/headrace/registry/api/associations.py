"""`/associations`: which subjects describe the keys and values of a topic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import msgspec

from headrace.http.endpoint import Query
from headrace.registry import associations, errors
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import LIMIT, OFFSET, new_table
from headrace.registry.decisions import Decision
from headrace.registry.entities import (
    Association,
    AssociationBatchRequest,
    AssociationBatchResponse,
    AssociationRequest,
    AssociationResponse,
    AssociationResult,
    ErrorMessage,
)
from headrace.registry.errors import RegistryError
from headrace.registry.instance import Batch, Decide
from headrace.registry.state import RegistryState
from headrace.registry.subjects import DEFAULT_CONTEXT, parsed_context

table: Final = new_table()

MOST_IN_BATCH: Final = 1_000

_FILTER: Final = (
    Query("resourceType", str, "Only associations of resources of this type"),
    Query("associationType", list[str], "Only associations of this type: key, value"),
    Query("lifecycle", str, "Only associations of this life cycle: STRONG, WEAK"),
    OFFSET,
    LIMIT,
)
_CONTEXT: Final = Query("context", str, "The context of subjects that name none")
_DRY_RUN: Final = Query("dryRun", bool, "Whether to check only, and to change nothing")
_CREATE_ERRORS: Final = (
    *(409, 40902, 40903, 40904, 40905, 40906, 40907, 40908),
    *(42201, 42205, 42208, 42212),
)


def _wanted(call: Call) -> dict[str, Any]:
    return {
        "resource_type": call.text("resourceType"),
        "association_types": call.texts("associationType"),
        "lifecycle": call.text("lifecycle"),
        **call.page_of_subjects(),
    }


def _context(call: Call) -> str:
    given = call.text("context")
    return parsed_context(given) if given else DEFAULT_CONTEXT


@table.get(
    "/associations/subjects/{subject}",
    "The associations of a subject",
    query=_FILTER,
    reply=list[Association],
)
def list_by_subject(call: Call) -> list[Association]:
    return associations.list_by_subject(call.state, call.subject, **_wanted(call))


@table.get(
    "/associations/resources/{resource}",
    "The associations of a resource by its id",
    query=_FILTER,
    reply=list[Association],
)
def list_by_resource(call: Call) -> list[Association]:
    return associations.list_by_resource(
        call.state, resource_id=call.name("resource"), **_wanted(call)
    )


@table.get(
    "/associations/resources/{namespace}/{name}",
    "The associations of a resource by its name; the namespace `-` stands for any",
    query=_FILTER,
    reply=list[Association],
)
def list_by_resource_name(call: Call) -> list[Association]:
    return associations.list_by_resource(
        call.state, namespace=call.name("namespace"), name=call.name("name"), **_wanted(call)
    )


@table.post(
    "/associations",
    "Associate a resource with subjects",
    query=(_CONTEXT, _DRY_RUN),
    body=AssociationRequest,
    reply=AssociationResponse,
    errors=_CREATE_ERRORS,
)
def create(call: Call) -> Decide:
    context, dry_run = _context(call), call.flag("dryRun")
    return lambda state: associations.create_associations(
        state, call.body, context=context, dry_run=dry_run
    )


@table.put(
    "/associations/resources/{resource}",
    "Associate a resource with subjects, or change its associations",
    query=(_CONTEXT, _DRY_RUN),
    body=AssociationRequest,
    reply=AssociationResponse,
    errors=_CREATE_ERRORS,
)
def create_or_update(call: Call) -> Decide:
    context, dry_run, resource = _context(call), call.flag("dryRun"), call.name("resource")
    request: AssociationRequest = call.body
    if request.resource_id not in (None, resource):
        raise errors.invalid_association("resourceId", "is not the one in the path")
    request = msgspec.structs.replace(request, resource_id=resource)
    return lambda state: associations.create_associations(
        state, request, context=context, update=True, dry_run=dry_run
    )


@table.post(
    "/associations:batch",
    "Associate several resources with subjects, each on its own",
    query=(_CONTEXT, _DRY_RUN),
    body=AssociationBatchRequest,
    reply=AssociationBatchResponse,
    status=207,
    errors=(42212,),
)
def create_batch(call: Call) -> Batch:
    context, dry_run = _context(call), call.flag("dryRun")
    requests = call.body.requests
    if not 0 < len(requests) <= MOST_IN_BATCH:
        raise errors.invalid_association("requests", f"must be 1 to {MOST_IN_BATCH}")

    def decide(request: AssociationRequest) -> Decide:
        return lambda state: associations.create_associations(
            state, request, context=context, update=True, dry_run=dry_run
        )

    def reply(outcomes: list[Any]) -> AssociationBatchResponse:
        return AssociationBatchResponse([_result(outcome) for outcome in outcomes])

    return Batch(tuple(decide(request) for request in requests), reply)


def _result(outcome: Any) -> AssociationResult:
    if isinstance(outcome, RegistryError):
        return AssociationResult(error=ErrorMessage(outcome.error_code, outcome.message))
    return AssociationResult(result=outcome)


@table.delete(
    "/associations/resources/{resource}",
    "Take the associations of a resource away",
    query=(
        *_FILTER[:2],
        Query("cascadeLifecycle", bool, "Whether to delete subjects that belong to the resource"),
        _DRY_RUN,
    ),
    status=204,
    errors=(40410, 40906, 42205, 42206),
)
def delete(call: Call) -> Decide:
    dry_run = call.flag("dryRun")

    def decide(state: RegistryState) -> Decision[None]:
        decision = associations.delete_associations(
            state,
            call.name("resource"),
            resource_type=call.text("resourceType"),
            association_types=call.texts("associationType"),
            cascade_lifecycle=call.flag("cascadeLifecycle"),
        )
        return replace(decision, writes=()) if dry_run else decision

    return decide
