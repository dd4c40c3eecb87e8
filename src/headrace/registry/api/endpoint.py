"""What one endpoint of the API is: the one description that routes, checks and OpenAPI come from.

    table = Table()

    @table.get("/subjects", "All subjects", query=(DELETED,), reply=list[str])
    def list_subjects(call: Call) -> list[str]: ...

A handler is a plain function of a call. What it returns depends on its kind: a READ and a COMPUTE
return the reply; a WRITE returns a function that decides on a state, because the decision is made
where and when the instance may write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeVar

from headrace.registry.api.call import Call
from headrace.security.users import Role

Handler = TypeVar("Handler", bound=Callable[[Call], Any])


class Kind(Enum):
    """Where a handler runs."""

    READ = "on the event loop: a few look-ups"
    COMPUTE = "in the worker: it parses schemas or walks over all of them"
    WRITE = "where the primary is"


@dataclass(frozen=True, slots=True)
class Query:
    """A parameter of the query; `also` are other names by which clients call it."""

    name: str
    type: type
    about: str
    also: tuple[str, ...] = ()
    default: Any = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method on one path."""

    method: str
    path: str
    summary: str
    handle: Callable[[Call], Any]
    kind: Kind
    query: tuple[Query, ...] = ()
    body: Any = None
    reply: Any = None
    status: int = 200
    errors: tuple[int, ...] = ()
    role: Role = Role.READ_ONLY
    permanent_role: Role | None = None
    """The role that `permanent=true` (or `force=true`) takes, where it takes another."""
    may_be_known: bool = False
    """Whether a write often changes nothing, and needs no primary then."""
    is_raw: bool = False
    """Whether the reply is text and not JSON."""


class Table:
    """The endpoints of one module, in the order of their definition."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []

    def get(self, path: str, summary: str, **described: Any) -> Callable[[Handler], Handler]:
        """A read; `kind=Kind.COMPUTE` for long ones."""
        return self._add("GET", path, summary, {"kind": Kind.READ, **described})

    def post(self, path: str, summary: str, **described: Any) -> Callable[[Handler], Handler]:
        """A write, unless `kind` says otherwise."""
        return self._add("POST", path, summary, {**_WRITE, **described})

    def put(self, path: str, summary: str, **described: Any) -> Callable[[Handler], Handler]:
        """A write."""
        return self._add("PUT", path, summary, {**_WRITE, **described})

    def delete(self, path: str, summary: str, **described: Any) -> Callable[[Handler], Handler]:
        """A write."""
        return self._add("DELETE", path, summary, {**_WRITE, **described})

    def _add(
        self, method: str, path: str, summary: str, described: dict[str, Any]
    ) -> Callable[[Handler], Handler]:
        def add(handler: Handler) -> Handler:
            self.endpoints.append(Endpoint(method, path, summary, handler, **described))
            return handler

        return add


_WRITE: Final = {"kind": Kind.WRITE, "role": Role.DEVELOPER}

# -- parameters that several endpoints share -------------------------------------------------------

SUBJECT_PREFIX: Final = Query(
    "subjectPrefix", str, "Only subjects that begin so; `:*:` stands for all contexts", ("subject",)
)
DELETED: Final = Query("deleted", bool, "Whether to include what was deleted softly")
DELETED_ONLY: Final = Query("deletedOnly", bool, "Whether to return only what was deleted softly")
OFFSET: Final = Query("offset", int, "How many results to skip", default=0)
LIMIT: Final = Query("limit", int, "How many results to return; negative: no limit", default=-1)
NORMALIZE: Final = Query("normalize", bool, "Whether to compare schemas by their normal form")
FORMAT: Final = Query("format", str, "The form of the schema, such as resolved or serialized")
REFERENCE_FORMAT: Final = Query("referenceFormat", str, "The form of the references")
FIND_TAGS: Final = Query("findTags", list, "Tags to look for inside the schema; `*` stands for all")
PERMANENT: Final = Query("permanent", bool, "Whether to delete for good what was deleted softly")
VERBOSE: Final = Query("verbose", bool, "Whether to say why a schema is not compatible")
DEFAULT_TO_GLOBAL: Final = Query(
    "defaultToGlobal", bool, "Whether to answer with what applies where nothing is set"
)
