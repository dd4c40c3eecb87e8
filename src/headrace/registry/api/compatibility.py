"""`/compatibility`: would a schema be accepted, and if not, why."""

from __future__ import annotations

from typing import Any, Final

from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import EXAMPLE, NORMALIZE, VERBOSE, Kind, new_table
from headrace.registry.compatibility import check_compatibility
from headrace.registry.entities import CompatibilityCheckResponse, RegisterSchemaRequest
from headrace.security.users import Role

table: Final = new_table()

_CHECK: Final[dict[str, Any]] = {
    "kind": Kind.COMPUTE,
    "role": Role.READ_ONLY,
    "query": (NORMALIZE, VERBOSE),
    "body": RegisterSchemaRequest,
    "example": EXAMPLE,
    "reply": CompatibilityCheckResponse,
}


@table.post(
    "/compatibility/subjects/{subject}/versions",
    "Check a schema against all versions that the level demands",
    errors=(42201, 42208),
    **_CHECK,
)
def check_against_all(call: Call) -> CompatibilityCheckResponse:
    return check_compatibility(
        call.state,
        call.subject,
        None,
        call.body,
        normalize=call.flag("normalize"),
        verbose=call.flag("verbose"),
    )


@table.post(
    "/compatibility/subjects/{subject}/versions/{version}",
    "Check a schema against one version",
    errors=(40401, 40402, 42201, 42202, 42208),
    **_CHECK,
)
def check_against_one(call: Call) -> CompatibilityCheckResponse:
    return check_compatibility(
        call.state,
        call.subject,
        call.version,
        call.body,
        normalize=call.flag("normalize"),
        verbose=call.flag("verbose"),
    )
