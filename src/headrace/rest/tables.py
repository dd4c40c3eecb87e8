"""Tables of endpoints, as the versions of the API differ: media types, and how bodies are read."""

from __future__ import annotations

from functools import partial
from typing import Final

from headrace.http.endpoint import Table
from headrace.http.negotiation import JSON
from headrace.rest.media_types import ANSWERS, KAFKA_TYPES
from headrace.security.users import Role

v2_table: Final = partial(
    Table,
    reader=Role.READ_ONLY,
    writer=Role.ADMIN,
    takes=KAFKA_TYPES,
    gives=ANSWERS,
    is_strict=False,
    errors=(404,),
)
v3_table: Final = partial(
    Table,
    reader=Role.READ_ONLY,
    writer=Role.ADMIN,
    takes=(JSON, "application/*+json"),
    is_strict=False,
    errors=(400, 404),
)
