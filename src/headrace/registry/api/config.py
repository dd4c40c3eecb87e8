"""`/config`: compatibility levels and the other settings, of all, of a context, of a subject."""

from __future__ import annotations

from typing import Final

from headrace.registry import configs
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import DEFAULT_TO_GLOBAL, new_table
from headrace.registry.entities import Config, ConfigUpdateRequest
from headrace.registry.instance import Decide
from headrace.security.users import Role

table: Final = new_table()


@table.get(
    "/config", "The settings of the default context", query=(DEFAULT_TO_GLOBAL,), reply=Config
)
def get_global(call: Call) -> Config:
    return configs.get_config(call.state, default_to_global=call.flag("defaultToGlobal"))


@table.get(
    "/config/{subject}",
    "The settings of a subject",
    query=(DEFAULT_TO_GLOBAL,),
    reply=Config,
    errors=(40408,),
)
def get(call: Call) -> Config:
    return configs.get_config(
        call.state, call.subject, default_to_global=call.flag("defaultToGlobal")
    )


@table.put(
    "/config",
    "Set what applies to the default context",
    role=Role.ADMIN,
    body=ConfigUpdateRequest,
    example={"compatibility": "BACKWARD"},
    reply=ConfigUpdateRequest,
    errors=(42203, 42205, 42210),
)
def set_global(call: Call) -> Decide:
    return lambda state: configs.set_config(state, None, call.body)


@table.put(
    "/config/{subject}",
    "Set what applies to a subject",
    role=Role.ADMIN,
    body=ConfigUpdateRequest,
    example={"compatibility": "BACKWARD"},
    reply=ConfigUpdateRequest,
    errors=(42203, 42205, 42208, 42210),
)
def set_subject(call: Call) -> Decide:
    return lambda state: configs.set_config(state, call.subject, call.body)


@table.delete(
    "/config",
    "Go back to the settings of the service",
    role=Role.ADMIN,
    reply=Config,
    errors=(42205,),
)
def delete_global(call: Call) -> Decide:
    return configs.delete_config


@table.delete(
    "/config/{subject}",
    "Take the settings of a subject away",
    role=Role.ADMIN,
    reply=Config,
    errors=(40401, 42205),
)
def delete(call: Call) -> Decide:
    return lambda state: configs.delete_config(state, call.subject)
