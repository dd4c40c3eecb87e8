"""The contract of every route as data, and the OpenAPI document that is drawn from it.

A router module keeps its routes in a tuple of `Endpoint`: the same tuple builds the Starlette
routes (`routes_of`) and the document served at /openapi.json (`build_document`), so that neither
can forget a route that the other has. Nothing here knows what a route does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from headrace.rest.errors import role_needed
from headrace.security.users import Role, User

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

Schema = Mapping[str, Any]
"""A JSON Schema (draft 2020-12), as OpenAPI 3.1 takes it."""
Handler = Callable[["Request"], Awaitable["Response"]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter. Those of the path are read from the path itself."""

    name: str
    schema: Schema = field(default_factory=lambda: {"type": "string"})
    summary: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    `path` is written as Starlette wants it (`/topics/{topic_name}`, converters allowed);
    `path_schemas` refines path parameters that are more than a string. `request` is the schema of
    the body (None: no body), `responses` the schema of each status (None: no content); the error
    body of all other statuses is the same everywhere and is added for `errors`.
    """

    path: str
    method: str
    handler: Handler
    summary: str
    tag: str
    parameters: Sequence[Parameter] = ()
    path_schemas: Mapping[str, Schema] = field(default_factory=dict)
    request: Schema | None = None
    request_required: bool = True
    request_types: Sequence[str] = ("application/json",)
    responses: Mapping[int, Schema | None] = field(default_factory=lambda: {200: {}})
    response_types: Sequence[str] = ("application/json",)
    errors: Sequence[int] = ()
    role: Role | None = None
    """What the user must be at least; None: a reader for GET, an administrator for all else."""

    @property
    def needed_role(self) -> Role:
        if self.role is not None:
            return self.role
        return Role.READ_ONLY if self.method == "GET" else Role.ADMIN


_PARAMETER: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_CONVERTED: Final[Mapping[str, Schema]] = {
    "int": {"type": "integer", "minimum": 0, "maximum": 0x7FFFFFFF},
    "path": {"type": "string", "minLength": 1},
}
_NAME: Final[Schema] = {"type": "string", "minLength": 1}
_ERROR_REFERENCE: Final = "#/components/schemas/Error"
_ERROR: Final[Schema] = {
    "type": "object",
    "required": ["error_code", "message"],
    "properties": {"error_code": {"type": "integer"}, "message": {"type": "string"}},
}
_REASONS: Final = {
    200: "Success",
    201: "Created",
    204: "No content",
    207: "The outcome of each",
    400: "The request is wrong",
    401: "Not authenticated",
    403: "Not authorized",
    404: "Not found",
    406: "No representation that the client accepts",
    408: "The request took too long",
    409: "In conflict with the state of the resource",
    413: "The request is too large",
    415: "The media type is not understood",
    416: "The log has no such offset",
    421: "Host is not a name of this service",
    422: "The content cannot be processed",
    429: "Too many requests: try again later",
    500: "Kafka failed",
    503: "Kafka or Schema Registry cannot be reached",
}
_ALWAYS: Final = (401, 403, 421, 429, 500, 503)
"""Statuses that any request may get, whatever it asks for."""


def routes_of(endpoints: Iterable[Endpoint]) -> list[Route]:
    """The routes, in the order given: Starlette takes the first path that matches."""
    from starlette.routing import Route

    return [Route(each.path, _authorized(each), methods=[each.method]) for each in endpoints]


def _authorized(endpoint: Endpoint) -> Handler:
    """The handler behind a check of the user's role; without users there is nothing to check."""
    needed = endpoint.needed_role

    async def route(request: Request) -> Response:
        user: User | None = request.scope.get("user")
        if user is not None and user.role < needed:
            what = f"{endpoint.method} {endpoint.path}"
            raise role_needed(user.name, what, needed.label)
        return await endpoint.handler(request)

    return route


def document_route(endpoints: Sequence[Endpoint], version: str) -> Route:
    """GET /openapi.json; the document is built by the first who asks."""
    import msgspec
    from starlette.responses import Response
    from starlette.routing import Route

    built: list[bytes] = []

    async def get_document(request: Request) -> Response:
        if not built:
            built.append(msgspec.json.encode(build_document(endpoints, version)))
        return Response(built[0], media_type="application/json")

    return Route("/openapi.json", get_document, methods=["GET"])


def build_document(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """OpenAPI 3.1 of these endpoints."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        operations = paths.setdefault(_PARAMETER.sub(r"{\1}", endpoint.path), {})
        operations[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headrace REST Proxy",
            "version": version,
            "description": "Kafka over HTTP: produce, consume and administer.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Error": _ERROR},
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "summary": endpoint.summary,
        "description": f"Role: {endpoint.needed_role.label}.",
        "tags": [endpoint.tag],
        "parameters": [*_path_parameters(endpoint), *map(_query_parameter, endpoint.parameters)],
        "responses": {
            **{
                str(status): _response(status, schema, endpoint.response_types)
                for status, schema in endpoint.responses.items()
            },
            **{
                str(status): _response(status, {"$ref": _ERROR_REFERENCE}, endpoint.response_types)
                for status in sorted(_errors(endpoint) - endpoint.responses.keys())
            },
        },
    }
    if endpoint.request is not None:
        content = {kind: {"schema": endpoint.request} for kind in endpoint.request_types}
        operation["requestBody"] = {"required": endpoint.request_required, "content": content}
    return operation


def _errors(endpoint: Endpoint) -> set[int]:
    # A body is looked at before the route is known, also where the route takes none.
    unsafe = () if endpoint.method == "GET" else (415,)
    return {*endpoint.errors, *_ALWAYS, *unsafe}


def _operation_id(endpoint: Endpoint) -> str:
    """A name that no other operation has: the method and all words of the path."""
    words = re.findall(r"[A-Za-z0-9]+", _PARAMETER.sub(r"by \1", endpoint.path))
    if "/-/" in endpoint.path:
        words.append("all")
    return "_".join((endpoint.method.lower(), *words))


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": endpoint.path_schemas.get(name, _CONVERTED.get(converter, _NAME)),
        }
        for name, converter in _PARAMETER.findall(endpoint.path)
    ]


def _query_parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "schema": parameter.schema,
    }
    if parameter.summary:
        described["description"] = parameter.summary
    return described


def _response(status: int, schema: Schema | None, types: Sequence[str]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": _REASONS.get(status, str(status))}
    if schema is not None:
        response["content"] = {kind: {"schema": schema} for kind in types}
    return response
