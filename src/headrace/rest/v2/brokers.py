"""GET /brokers: the ids of the brokers that are alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from headrace.rest.admin import TIMEOUT_S
from headrace.rest.answers import acceptable, answer, proxy_of
from headrace.rest.media_types import ANSWERS
from headrace.rest.openapi import Endpoint

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


class Brokers(msgspec.Struct):
    brokers: list[int]


async def list_brokers(request: Request) -> Response:
    acceptable(request)
    found = await proxy_of(request).admin.blocking(
        lambda admin: admin.list_topics(timeout=TIMEOUT_S)
    )
    return answer(request, Brokers(sorted(found.brokers)))


_BROKERS: Final = {
    "type": "object",
    "required": ["brokers"],
    "properties": {"brokers": {"type": "array", "items": {"type": "integer"}}},
}
ENDPOINTS: Final = (
    Endpoint(
        "/brokers",
        "GET",
        list_brokers,
        "List brokers",
        "Brokers (v2)",
        responses={200: _BROKERS},
        response_types=ANSWERS,
        errors=(401, 406, 429, 500, 503),
    ),
)
