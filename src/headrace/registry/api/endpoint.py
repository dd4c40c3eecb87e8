"""What an endpoint of the registry has besides its types: where its handler runs, and as whom.

What a handler returns depends on its kind: a READ and a COMPUTE return the reply; a WRITE returns a
function that decides on a state, because the decision is made where and when the instance may
write.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from headrace.http.endpoint import Endpoint, Query, Table
from headrace.registry.settings import MEDIA_TYPES
from headrace.security.users import Role

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_WRITE_ERRORS: Final = (50001, 50002, 50003, 50004)
EXAMPLE: Final = {"schema": '{"type":"string"}'}


class Kind(Enum):
    """Where a handler runs."""

    READ = "on the event loop: a few look-ups"
    COMPUTE = "in the worker: it parses schemas or walks over all of them"
    WRITE = "where the primary is"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEndpoint(Endpoint):
    """One method on one path."""

    kind: Kind
    permanent_role: Role | None = None
    """The role that `permanent=true` (or `force=true`) takes, where it takes another."""
    may_be_known: bool = False
    """Whether a write often changes nothing, and needs no primary then."""


def _endpoint(*, method: str, errors: tuple[int, ...] = (), **declared: Any) -> RegistryEndpoint:
    kind = declared.setdefault("kind", Kind.READ if method == "GET" else Kind.WRITE)
    unknown_property = () if declared.get("body") is None else (422,)
    written = _WRITE_ERRORS if kind is Kind.WRITE else ()
    codes = (400, 404, *unknown_property, *errors, *written)
    return RegistryEndpoint(method=method, errors=codes, **declared)


new_table: Final = partial(
    Table,
    _endpoint,
    reader=Role.READ_ONLY,
    writer=Role.DEVELOPER,
    takes=(*MEDIA_TYPES, "application/octet-stream"),
    gives=MEDIA_TYPES,
)

# -- parameters that several endpoints share -------------------------------------------------------

SUBJECT_PREFIX: Final = Query(
    "subjectPrefix", str, "Only subjects that begin so; `:*:` stands for all contexts", ("subject",)
)
DELETED: Final = Query("deleted", bool, "Whether to include what was deleted softly")
DELETED_ONLY: Final = Query("deletedOnly", bool, "Whether to return only what was deleted softly")
OFFSET: Final = Query("offset", Int32, "How many results to skip", default=0)
LIMIT: Final = Query("limit", Int32, "How many results to return; negative: no limit", default=-1)
NORMALIZE: Final = Query("normalize", bool, "Whether to compare schemas by their normal form")
FORMAT: Final = Query("format", str, "The form of the schema, such as resolved or serialized")
REFERENCE_FORMAT: Final = Query("referenceFormat", str, "The form of the references")
FIND_TAGS: Final = Query(
    "findTags", list[str], "Tags to look for inside the schema; `*` stands for all"
)
PERMANENT: Final = Query("permanent", bool, "Whether to delete for good what was deleted softly")
VERBOSE: Final = Query("verbose", bool, "Whether to say why a schema is not compatible")
DEFAULT_TO_GLOBAL: Final = Query(
    "defaultToGlobal", bool, "Whether to answer with what applies where nothing is set"
)
