"""Schemas that are there by name, as Confluent's connector has them, with the field of the key.

Knows nothing of how values are made.
"""

from __future__ import annotations

import json
from typing import Final

from headrace.schemas.avro.schema import Json


def _field(name: str, kind: str, **properties: Json) -> Json:
    return {"name": name, "type": {"type": kind, "arg.properties": properties}}


def _record(name: str, *fields: Json) -> dict[str, Json]:
    return {"type": "record", "name": name, "namespace": "ksql", "fields": [*fields]}


_YEAR: Final[dict[str, Json]] = {"min": 1_487_715_775_521, "max": 1_519_273_364_600}
_USER: Final = "User_[1-9]"

_USERS: Final = _record(
    "users",
    _field("registertime", "long", range=_YEAR),
    _field("userid", "string", regex=_USER),
    _field("regionid", "string", regex="Region_[1-9]"),
    _field("gender", "string", options=["MALE", "FEMALE", "OTHER"]),
)
_PAGEVIEWS: Final = _record(
    "pageviews",
    _field("viewtime", "long", iteration={"start": 1, "step": 10}),
    _field("userid", "string", regex=_USER),
    _field("pageid", "string", regex="Page_[1-9][0-9]?"),
)
_ADDRESS: Final[Json] = {
    "name": "address",
    "type": _record(
        "address",
        _field("city", "string", regex="City_[1-9]{0,2}"),
        _field("state", "string", regex="State_[1-9]{0,2}"),
        _field("zipcode", "long", range={"min": 10_000, "max": 99_999}),
    ),
}
_ORDERS: Final = _record(
    "orders",
    _field("ordertime", "long", range=_YEAR),
    _field("orderid", "int", iteration={"start": 0}),
    _field("itemid", "string", regex="Item_[1-9][0-9]{0,2}"),
    _field("orderunits", "double", range={"min": 0.1, "max": 10.0}),
    _ADDRESS,
)
_RATINGS: Final = _record(
    "ratings",
    _field("rating_id", "long", iteration={"start": 1}),
    _field("user_id", "int", range={"min": 1, "max": 21}),
    _field("stars", "int", range={"min": 1, "max": 6}),
    _field("route_id", "int", range={"min": 1, "max": 10_000}),
    _field("rating_time", "long", iteration={"start": 1, "step": 12}),
    _field("channel", "string", options=["web", "ios", "android"]),
    _field("message", "string", options=["on time", "late", "clean seats", "no coffee"]),
)
_CLICKSTREAM: Final = _record(
    "clickstream",
    _field("ip", "string", regex="(111|122|222)\\.[1-9][0-9]\\.[1-9][0-9]\\.[1-9]"),
    _field("userid", "int", range={"min": 1, "max": 40}),
    _field("remote_user", "string", options=["-"]),
    _field("time", "long", iteration={"start": 1, "step": 10}),
    _field("request", "string", regex="GET /(index|site/login|images/track)\\.html HTTP/1\\.1"),
    _field("status", "int", options=[200, 302, 404, 405, 406, 407]),
    _field("bytes", "long", range={"min": 278, "max": 14_096}),
    _field("referrer", "string", options=["-"]),
    _field("agent", "string", options=["Mozilla/5.0", "curl/8.5"]),
)

QUICKSTARTS: Final = {
    "users": (json.dumps(_USERS), "userid"),
    "pageviews": (json.dumps(_PAGEVIEWS), "viewtime"),
    "orders": (json.dumps(_ORDERS), "orderid"),
    "ratings": (json.dumps(_RATINGS), "rating_id"),
    "clickstream": (json.dumps(_CLICKSTREAM), "ip"),
}
"""The text of each schema, and the field that is the key."""
