"""The API's description in OpenAPI 3.1, made from the endpoints that also answer.

What a path takes and returns is read off the types that decode and encode it, so the description
cannot promise what the service does not do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from headrace import __version__
from headrace.registry.api.endpoint import Endpoint, Query
from headrace.registry.entities import (
    ConfigUpdateRequest,
    ErrorMessage,
    ModeUpdateRequest,
    RegisterSchemaRequest,
)
from headrace.registry.settings import MEDIA_TYPES

_REF: Final = "#/components/schemas/{name}"
_ALWAYS: Final = {
    401: "The client is not authenticated",
    403: "The client is not authorized, or a web page of another site asks",
    406: "None of the media types in Accept is spoken",
    421: "Host is not a name of this service",
    429: "Too many failed logins: try again later",
}
_WITH_BODY: Final = {
    400: "The body is not JSON, or not of the right types",
    408: "The body did not come in time",
    413: "The body is too large",
    415: "The body is of a media type that is not spoken",
    422: "The body has a property that is not known, or is missing",
    503: "Too many requests wait",
}
_TYPES: Final[dict[type, dict[str, Any]]] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int32"},
    str: {"type": "string"},
    list: {"type": "array", "items": {"type": "string"}},
}
_PATH_TYPES: Final[dict[str, dict[str, Any]]] = {
    "id": _TYPES[int],
    "guid": {**_TYPES[str], "format": "uuid"},
    "version": {**_TYPES[str], "pattern": "^(latest|-1|[1-9][0-9]{0,8})$"},
}
_EXAMPLES: Final[dict[type, dict[str, Any]]] = {
    RegisterSchemaRequest: {"schema": '{"type":"string"}'},
    ConfigUpdateRequest: {"compatibility": "BACKWARD"},
    ModeUpdateRequest: {"mode": "READWRITE"},
}


def build_openapi(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The whole description."""
    endpoints = list(endpoints)
    types = [each.body for each in endpoints if each.body is not None]
    types += [each.reply for each in endpoints if each.reply is not None and not each.is_raw]
    types.append(ErrorMessage)
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    by_type = {repr(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        described = _operation(endpoint, by_type)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headrace Schema Registry",
            "version": __version__,
            "description": "Versioned schemas and their compatibility, for Kafka's clients.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _operation(endpoint: Endpoint, by_type: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": f"{endpoint.method.lower()} {endpoint.path}",
        "tags": [endpoint.path.split("/")[1] or "root"],
        "parameters": [
            *(_path_parameter(name) for name in re.findall(r"{(\w+)}", endpoint.path)),
            *(_query_parameter(query) for query in endpoint.query),
        ],
        "responses": _responses(endpoint, by_type),
    }
    if endpoint.body is not None:
        content = _content(by_type[repr(endpoint.body)])
        for described in content.values() if endpoint.body in _EXAMPLES else ():
            described["example"] = _EXAMPLES[endpoint.body]
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _path_parameter(name: str) -> dict[str, Any]:
    kind = _PATH_TYPES.get(name, {**_TYPES[str], "minLength": 1})
    return {"name": name, "in": "path", "required": True, "schema": kind}


def _query_parameter(query: Query) -> dict[str, Any]:
    kind = dict(_TYPES[query.type])
    if query.default is not None:
        kind["default"] = query.default
    about = query.about
    if query.also:
        about += f" (also called {', '.join(query.also)})"
    return {"name": query.name, "in": "query", "description": about, "schema": kind}


def _responses(endpoint: Endpoint, by_type: dict[str, Any]) -> dict[str, Any]:
    success: dict[str, Any] = {"description": "As asked"}
    if endpoint.is_raw:
        success["content"] = _content({"description": "The schema's own text"})
    elif endpoint.reply is not None and endpoint.status != 204:
        success["content"] = _content(by_type[repr(endpoint.reply)])
    reasons: dict[int, list[str]] = {status: [text] for status, text in _ALWAYS.items()}
    for status, text in (_WITH_BODY if endpoint.body is not None else {}).items():
        reasons.setdefault(status, []).append(text)
    if endpoint.method != "GET":
        reasons.setdefault(415, ["A body of a media type that is not spoken"])
    reasons.setdefault(400, ["The address cannot be read"])
    reasons.setdefault(404, ["There is no such thing"])
    for code in endpoint.errors:
        status = code if code < 600 else code // 100
        reasons.setdefault(status, []).append(f"error_code {code}")
    error = _content(by_type[repr(ErrorMessage)])
    responses = {str(endpoint.status): success}
    for status, texts in sorted(reasons.items()):
        responses[str(status)] = {"description": "; ".join(texts), "content": error}
    return responses


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {media_type: {"schema": schema} for media_type in MEDIA_TYPES}
