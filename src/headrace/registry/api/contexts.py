"""`/contexts`: the registries within the registry. What is below `/contexts/.c/` is rewritten."""

from __future__ import annotations

from typing import Final

from headrace.http.endpoint import Query
from headrace.registry import contexts, lists
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import LIMIT, OFFSET, new_table
from headrace.registry.instance import Decide
from headrace.security.users import Role

table: Final = new_table()


@table.get(
    "/contexts",
    "All contexts",
    query=(Query("contextPrefix", str, "Only contexts that begin so"), OFFSET, LIMIT),
    reply=list[str],
)
def list_contexts(call: Call) -> list[str]:
    return lists.list_contexts(
        call.state, prefix=call.text("contextPrefix") or "", **call.page_of_subjects()
    )


@table.delete(
    "/contexts/{context}",
    "Delete an empty context",
    role=Role.ADMIN,
    status=204,
    errors=(42205, 42208, 42211),
)
def delete_context(call: Call) -> Decide:
    return lambda state: contexts.delete_context(state, call.name("context"))
