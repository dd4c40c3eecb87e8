"""Pieces of the contract that the endpoints of consumers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from headrace.rest.media_types import ANSWERS, V2
from headrace.rest.openapi import Endpoint, Handler, Schema
from headrace.security.users import Role

NAME: Final = {"type": "string", "minLength": 1, "maxLength": 249}
_PARTITION: Final = {
    "type": "object",
    "required": ["topic", "partition"],
    "additionalProperties": False,
    "properties": {"topic": NAME, "partition": {"type": "integer", "minimum": 0}},
}
PARTITIONS: Final = {
    "type": "object",
    "required": ["partitions"],
    "additionalProperties": False,
    "properties": {"partitions": {"type": "array", "items": _PARTITION}},
}
OFFSETS: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["topic", "partition", "offset"],
        "additionalProperties": False,
        "properties": {
            "topic": NAME,
            "partition": {"type": "integer", "minimum": 0},
            "offset": {"type": "integer", "minimum": 0},
            "metadata": {"type": ["string", "null"]},
        },
    },
}


def control(
    path: str,
    method: str,
    handler: Handler,
    responses: Mapping[int, Schema | None],
    *errors: int,
    **more: Any,
) -> Endpoint:
    """An endpoint of consumers; its summary is the first line of the handler's docstring."""
    chosen: dict[str, Any] = {"request_types": (V2,), "response_types": ANSWERS, **more}
    # To read takes an instance of one's own, so a reader may do with it what it likes.
    chosen["role"] = Role.READ_ONLY
    summary = (handler.__doc__ or "").partition("\n")[0].rstrip(".")
    wrong = (400, 401, 403, 406, 408, 413, 415, 422, 429, 500, 503)
    return Endpoint(
        path,
        method,
        handler,
        summary,
        "Consumers (v2)",
        responses=responses,
        errors=tuple(sorted({*wrong, *errors})),
        **chosen,
    )
