"""`/mode`: what may be done to all subjects, to a context, to a subject."""

from __future__ import annotations

from typing import Final

from headrace.http.endpoint import Query
from headrace.registry import modes
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import DEFAULT_TO_GLOBAL, new_table
from headrace.registry.entities import ModeReply, ModeUpdateRequest
from headrace.registry.instance import Decide
from headrace.security.users import Role

table: Final = new_table()

_FORCE: Final = Query("force", bool, "Whether to allow IMPORT where schemas exist already")
_RECURSIVE: Final = Query("recursive", bool, "Whether to delete the modes of subjects within too")


@table.get("/mode", "The mode of the default context", query=(DEFAULT_TO_GLOBAL,), reply=ModeReply)
def get_global(call: Call) -> ModeReply:
    return modes.get_mode(call.state, default_to_global=call.flag("defaultToGlobal"))


@table.get(
    "/mode/{subject}",
    "The mode of a subject",
    query=(DEFAULT_TO_GLOBAL,),
    reply=ModeReply,
    errors=(40409,),
)
def get(call: Call) -> ModeReply:
    return modes.get_mode(call.state, call.subject, default_to_global=call.flag("defaultToGlobal"))


@table.put(
    "/mode",
    "Set the mode of the default context",
    role=Role.ADMIN,
    query=(_FORCE,),
    body=ModeUpdateRequest,
    example={"mode": "READWRITE"},
    reply=ModeReply,
    errors=(42204, 42205, 42206),
)
def set_global(call: Call) -> Decide:
    force = call.flag("force")
    return lambda state: modes.set_mode(state, None, call.body, force=force)


@table.put(
    "/mode/{subject}",
    "Set the mode of a subject",
    role=Role.ADMIN,
    query=(_FORCE,),
    body=ModeUpdateRequest,
    example={"mode": "READWRITE"},
    reply=ModeReply,
    errors=(42204, 42205, 42206, 42208),
)
def set_subject(call: Call) -> Decide:
    force = call.flag("force")
    return lambda state: modes.set_mode(state, call.subject, call.body, force=force)


@table.delete(
    "/mode",
    "Go back to READWRITE",
    role=Role.ADMIN,
    query=(_RECURSIVE,),
    reply=ModeReply,
    errors=(42205,),
)
def delete_global(call: Call) -> Decide:
    recursive = call.flag("recursive")
    return lambda state: modes.delete_mode(state, recursive=recursive)


@table.delete(
    "/mode/{subject}",
    "Take the mode of a subject away",
    role=Role.ADMIN,
    query=(_RECURSIVE,),
    reply=ModeReply,
    errors=(40401, 42205),
)
def delete(call: Call) -> Decide:
    recursive = call.flag("recursive")
    return lambda state: modes.delete_mode(state, call.subject, recursive=recursive)
