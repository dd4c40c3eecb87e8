"""`/admin/loggers`: what the logs of this worker, or of all workers, let pass."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.responses import Response

from headrace.http.endpoint import Query
from headrace.pipelines.connect.api.call import Call
from headrace.pipelines.connect.api.endpoint import new_table
from headrace.pipelines.connect.faults import BadRequestException, NotFoundException
from headrace.pipelines.connect.worker.loggers import Level, Loggers
from headrace.security.users import Role

table: Final = new_table(tag="Loggers", role=Role.ADMIN)

_CLUSTER: Final = "cluster"


class LoggerLevel(msgspec.Struct):
    """The level of a logger, and when it was set."""

    level: str
    last_modified: int | None


class NewLevel(msgspec.Struct):
    """A level: OFF, FATAL, ERROR, WARN, INFO, DEBUG or TRACE."""

    level: str | None = None


def _loggers(call: Call) -> Loggers:
    found: Loggers = call.service.loggers
    return found


def _shown(level: Level) -> LoggerLevel:
    return LoggerLevel(level.name, level.modified_ms)


@table.get("/admin/loggers", "The levels of all loggers", reply=dict[str, LoggerLevel])
def list_all(call: Call) -> dict[str, LoggerLevel]:
    return {name: _shown(level) for name, level in _loggers(call).levels().items()}


@table.get("/admin/loggers/{name}", "The level of a logger", reply=LoggerLevel)
def level(call: Call) -> LoggerLevel:
    found = _loggers(call).level(call.name)
    if found is None:
        raise NotFoundException(f"Logger {call.name} not found.")
    return _shown(found)


@table.put(
    "/admin/loggers/{name}",
    "Set the level of a logger and of those below it",
    query=(Query("scope", str, "`worker` (this one) or `cluster` (all)", default="worker"),),
    body=NewLevel,
    reply=list[str],
    also_status=(204,),
)
def set_level(call: Call) -> list[str] | Response:
    wanted = call.body.level
    if wanted is None:
        raise BadRequestException("Desired 'level' parameter was not specified in request.")
    if call.query("scope").lower() == _CLUSTER:
        call.worker.set_logger_level(call.name, wanted)
        return Response(status_code=204)
    return _loggers(call).set_level(call.name, wanted)
