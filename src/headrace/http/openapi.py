"""The description of a service in OpenAPI 3.1, made from the endpoints that also answer.

What a path takes and returns is read off the types that decode and encode it, so the description
cannot promise what the service does not do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import msgspec

from headrace import __version__
from headrace.http.endpoint import Endpoint, Query
from headrace.http.service import Service

_REFERENCE: Final = "#/components/schemas/{name}"
_PARAMETER: Final = re.compile(r"\{(\w+)(?::(\w+))?\}")
_Name = Annotated[str, msgspec.Meta(min_length=1)]
_CONVERTED: Final[Mapping[str, Any]] = {
    "int": Annotated[int, msgspec.Meta(ge=0, le=0x7FFFFFFF)],
    "path": _Name,
}
_LARGEST_STATUS: Final = 599
_ALWAYS: Final = (401, 403, 421, 429, 500, 503)
"""Statuses that any request may get, whatever it asks for."""
_WITH_BODY: Final = (400, 408, 413, 415)
_REASONS: Final = {
    200: "Success",
    201: "Created",
    204: "No content",
    207: "The outcome of each",
    400: "The request is wrong",
    401: "Not authenticated",
    403: "Not authorized, or a web page of another site asks",
    404: "Not found",
    406: "None of the media types in Accept is spoken",
    408: "The body did not come in time",
    409: "In conflict with the state of the resource",
    413: "The body is too large",
    415: "The media type of the body is not understood",
    416: "The log has no such offset",
    421: "Host is not a name of this service",
    422: "The content cannot be processed",
    429: "Too many requests or failed logins: try again later",
    500: "The service failed",
    503: "Too many requests wait, or something behind the service cannot be reached",
}


def build_document(service: Service) -> dict[str, Any]:
    """The whole description."""
    types = list(_types(service))
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    described = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in service.endpoints:
        operations = paths.setdefault(_PARAMETER.sub(r"{\1}", endpoint.path), {})
        operations[endpoint.method.lower()] = _operation(service, endpoint, described)
    return {
        "openapi": "3.1.0",
        "info": {"title": service.title, "version": __version__, "description": service.about},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _types(service: Service) -> Iterable[Any]:
    """Every type that is referred to, once or more often."""
    yield from (service.error, _Name, *_CONVERTED.values(), *service.path_types.values())
    for endpoint in service.endpoints:
        yield from endpoint.bodies().values()
        yield from (query.type for query in endpoint.query)
        yield from _replies(endpoint)


def _replies(endpoint: Endpoint) -> tuple[Any, ...]:
    if endpoint.reply is None:
        return ()
    return endpoint.reply if isinstance(endpoint.reply, tuple) else (endpoint.reply,)


def _operation(
    service: Service, endpoint: Endpoint, described: Mapping[str, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "summary": endpoint.summary,
        "description": f"Role: {endpoint.role.label}.",
        "tags": [endpoint.tag or endpoint.path.split("/")[1] or "root"],
        "parameters": [
            *(
                {
                    "name": name,
                    "in": "path",
                    "required": True,
                    "schema": described[
                        repr(service.path_types.get(name, _CONVERTED.get(converter, _Name)))
                    ],
                }
                for name, converter in _PARAMETER.findall(endpoint.path)
            ),
            *(_query_parameter(query, described) for query in endpoint.query),
        ],
        "responses": _responses(service, endpoint, described),
    }
    if endpoint.body is not None:
        example = {} if endpoint.example is None else {"example": endpoint.example}
        content = {
            media_type: {"schema": described[repr(kind)], **example}
            for media_type, kind in endpoint.bodies().items()
            if "*" not in media_type
        }
        operation["requestBody"] = {"required": endpoint.needs_body, "content": content}
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    """A name that no other operation has: the method and all words of the path."""
    words = re.findall(r"[A-Za-z0-9]+", _PARAMETER.sub(r"by \1", endpoint.path))
    if "/-/" in endpoint.path:
        words.append("all")
    return "_".join((endpoint.method.lower(), *words))


def _query_parameter(query: Query, described: Mapping[str, Any]) -> dict[str, Any]:
    schema = dict(described[repr(query.type)])
    if query.default is not None:
        schema["default"] = query.default
    also = f"(also called {', '.join(query.also)})" if query.also else ""
    parameter = {"name": query.name, "in": "query", "required": query.is_required, "schema": schema}
    about = " ".join(filter(None, (query.about, also)))
    return {**parameter, "description": about} if about else parameter


def _responses(
    service: Service, endpoint: Endpoint, described: Mapping[str, Any]
) -> dict[str, Any]:
    replies = [described[repr(kind)] for kind in _replies(endpoint)]
    schema = None
    if replies:
        schema = {} if endpoint.is_raw else replies[0] if len(replies) == 1 else {"anyOf": replies}
    responses = {
        str(status): _response(status, schema, endpoint.gives)
        for status in (endpoint.status, *endpoint.also_status)
    }
    codes: dict[int, list[int]] = {status: [] for status in _statuses(endpoint)}
    for code in endpoint.errors:
        if code <= _LARGEST_STATUS:
            codes.setdefault(code, [])
        else:
            codes.setdefault(code // 100, []).append(code)
    error = described[repr(service.error)]
    for status, finer in sorted(codes.items()):
        responses[str(status)] = _response(status, error, (service.error_type,), finer)
    return responses


def _statuses(endpoint: Endpoint) -> Iterable[int]:
    """Errors that follow from what an endpoint takes and gives."""
    yield from _ALWAYS
    if endpoint.body is not None:
        yield from _WITH_BODY
    if endpoint.method != "GET":
        # A body is looked at before the route is known, also where the route takes none.
        yield 415
    if len(endpoint.gives) > 1:
        yield 406
    if endpoint.query:
        yield 400


def _response(
    status: int, schema: Any, media_types: Iterable[str], codes: Iterable[int] = ()
) -> dict[str, Any]:
    told = "; ".join([_REASONS.get(status, str(status)), *(f"error_code {code}" for code in codes)])
    response: dict[str, Any] = {"description": told}
    if schema is not None:
        response["content"] = {media_type: {"schema": schema} for media_type in media_types}
    return response
