"""What one endpoint is: the one declaration that routes, checks and OpenAPI come from.

A handler is a function of a call, plain or async, and returns a value of the type `reply`, which is
encoded as JSON, or a response of its own making where a value does not say enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, TypeVar

import msgspec

from headrace.http.negotiation import JSON

Handler = TypeVar("Handler", bound=Callable[..., Any])


Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class Role(Protocol):
    """What a user must be at least; each includes those before it."""

    @property
    def label(self) -> str: ...

    def __gt__(self, other: Any, /) -> bool: ...


@dataclass(frozen=True, slots=True)
class Query:
    """A parameter of the query, of any type that a text can be converted to.

    `also` are other names by which clients call it.
    """

    name: str
    type: Any = str
    about: str = ""
    also: tuple[str, ...] = ()
    default: Any = None
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method on one path, which is written as Starlette wants it, converters included."""

    method: str
    path: str
    summary: str
    handle: Callable[..., Any]
    tag: str = ""
    query: tuple[Query, ...] = ()
    body: Any = None
    """The type of the body, or a mapping from media types to types; None takes no body."""
    takes: tuple[str, ...] = (JSON,)
    """Media types of the body, where `body` does not name them; `*` matches any characters."""
    needs_body: bool = True
    is_strict: bool = True
    """Whether numbers and flags in the body may not be written as strings."""
    is_stream: bool = False
    """Whether the handler reads the body by itself, as it comes."""
    reply: Any = None
    """The type of the reply, or a tuple of several; None is no content."""
    gives: tuple[str, ...] = (JSON,)
    """Media types of the reply, the default first; a single one is given whatever is accepted."""
    is_raw: bool = False
    """Whether the reply is a text and not JSON."""
    status: int = 200
    also_status: tuple[int, ...] = ()
    errors: tuple[int, ...] = ()
    """Further HTTP statuses, and codes that begin with one."""
    role: Role
    example: Any = None

    def bodies(self) -> Mapping[str, Any]:
        """The types of the body by media type."""
        if isinstance(self.body, Mapping):
            return self.body
        return {} if self.body is None else dict.fromkeys(self.takes, self.body)


class Table:
    """The endpoints of one module in the order of their definition; `common` holds for all.

    `reader` is the role that a GET takes, `writer` the role of all else, unless an endpoint says so
    itself; `endpoint` makes an endpoint of a service that has something to add to it.
    """

    def __init__(
        self,
        endpoint: Callable[..., Endpoint] = Endpoint,
        *,
        reader: Role,
        writer: Role,
        **common: Any,
    ) -> None:
        self.endpoints: list[Endpoint] = []
        self._make = endpoint
        self._reader = reader
        self._writer = writer
        self._common = common

    def get(self, path: str, summary: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self.add("GET", path, summary, **declared)

    def post(self, path: str, summary: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self.add("POST", path, summary, **declared)

    def put(self, path: str, summary: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self.add("PUT", path, summary, **declared)

    def patch(self, path: str, summary: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self.add("PATCH", path, summary, **declared)

    def delete(self, path: str, summary: str, **declared: Any) -> Callable[[Handler], Handler]:
        return self.add("DELETE", path, summary, **declared)

    def add(
        self, method: str, path: str, summary: str, **declared: Any
    ) -> Callable[[Handler], Handler]:
        """Declare the function below as an endpoint; it stays as it is."""
        role = self._reader if method == "GET" else self._writer

        def declare(handler: Handler) -> Handler:
            self.endpoints.append(
                self._make(
                    method=method,
                    path=path,
                    summary=summary,
                    handle=handler,
                    **{"role": role, **self._common, **declared},
                )
            )
            return handler

        return declare
