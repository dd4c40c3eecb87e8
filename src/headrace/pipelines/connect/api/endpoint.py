"""What the endpoints of all nouns have in common."""

from __future__ import annotations

from functools import partial
from typing import Final

from headrace.http.endpoint import Query, Table
from headrace.security.users import Role

new_table: Final = partial(
    Table, reader=Role.READ_ONLY, writer=Role.DEVELOPER, errors=(400, 404, 409, 415, 500)
)
FORWARD: Final = Query("forward", bool, "Whether the worker may ask another one; workers say no")
