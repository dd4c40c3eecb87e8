"""`/connectors`: their settings, what they do and what they shall do, and the topics they use."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from starlette.responses import Response

from headrace.http.endpoint import Query
from headrace.pipelines.connect.api.bodies import (
    Connector,
    CreateRequest,
    Expanded,
    Given,
    Topics,
    WholeState,
    changes,
    connector_of,
    state_of,
    texts,
)
from headrace.pipelines.connect.api.call import Call
from headrace.pipelines.connect.api.endpoint import FORWARD, new_table
from headrace.pipelines.connect.api.errors import Answered
from headrace.pipelines.connect.config.connector import NAME
from headrace.pipelines.connect.faults import BadRequestException, NotFoundException
from headrace.pipelines.connect.herder.decisions import named
from headrace.pipelines.connect.state.records import RestartRequest, TargetState

table: Final = new_table(tag="Connectors")

_INITIAL: Final = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}
_FORBIDDEN: Final = 403


# -- all of them ----------------------------------------------------------------------------------


@table.get(
    "/connectors",
    "The names of all connectors, or more of each",
    query=(Query("expand", list[str], "`status` and `info`; both may be given"),),
    reply=(list[str], dict[str, Expanded]),
)
def list_all(call: Call) -> list[str] | dict[str, Expanded]:
    names = call.worker.connectors()
    wanted = call.texts("expand")
    if not wanted:
        return names
    found = {}
    for name in names:
        try:
            found[name] = _expanded(call, name, wanted)
        except NotFoundException:
            continue  # it was deleted a moment ago
    return found


def _expanded(call: Call, name: str, wanted: list[str]) -> Expanded:
    return Expanded(
        state_of(call.worker.status(name)) if "status" in wanted else None,
        connector_of(call.worker.info(name)) if "info" in wanted else None,
    )


@table.post(
    "/connectors",
    "Create a connector",
    query=(FORWARD,),
    body=CreateRequest,
    reply=Connector,
    status=201,
    example={
        "name": "lines",
        "config": {"connector.class": "FileStreamSource", "file": "in.txt", "topic": "lines"},
    },
)
def create(call: Call) -> Response:
    request: CreateRequest = call.body
    if request.config is None:
        raise BadRequestException("The request has no config: send name and config")
    name = (request.name or "").strip()
    config = named(name, texts(request.config))
    made = connector_of(call.worker.create(name, config, _initial(request.initial_state)))
    return _created(call, made)


def _initial(text: str | None) -> TargetState | None:
    if text is None:
        return None
    if text.upper() not in _INITIAL:
        raise BadRequestException(
            f"initial_state={text}: a connector begins as {', '.join(_INITIAL)}"
        )
    return _INITIAL[text.upper()]


def _created(call: Call, made: Connector) -> Response:
    response = call.respond(made, 201)
    response.headers["location"] = f"/connectors/{quote(made.name, safe='')}"
    return response


# -- one ------------------------------------------------------------------------------------------


@table.get("/connectors/{name}", "A connector as it is configured", reply=Connector)
def info(call: Call) -> Connector:
    return connector_of(call.worker.info(call.name))


@table.delete("/connectors/{name}", "Delete a connector", query=(FORWARD,), status=204)
def delete(call: Call) -> None:
    call.worker.delete(call.name)


@table.get("/connectors/{name}/config", "The settings of a connector", reply=dict[str, str])
def config(call: Call) -> object:
    return call.worker.info(call.name).config


@table.put(
    "/connectors/{name}/config",
    "Set all settings of a connector, which may be new",
    query=(FORWARD,),
    body=Given,
    reply=Connector,
    also_status=(201,),
)
def configure(call: Call) -> Response:
    made, new = call.worker.configure(call.name, named(call.name, texts(call.body)))
    shown = connector_of(made)
    return _created(call, shown) if new else call.respond(shown)


@table.patch(
    "/connectors/{name}/config",
    "Set some settings of a connector; null takes one away",
    query=(FORWARD,),
    body=Given,
    reply=Connector,
)
def patch(call: Call) -> Connector:
    changed = changes(call.body)
    if changed.get(NAME) is not None:
        named(call.name, {NAME: changed[NAME] or ""})
    return connector_of(call.worker.patch(call.name, changed))


@table.get("/connectors/{name}/status", "What a connector and its tasks do", reply=WholeState)
def status(call: Call) -> WholeState:
    return state_of(call.worker.status(call.name))


# -- what it shall do -----------------------------------------------------------------------------


@table.put("/connectors/{name}/pause", "Let tasks stay and do nothing", status=202)
def pause(call: Call) -> None:
    call.worker.aim(call.name, TargetState.PAUSED)


@table.put("/connectors/{name}/resume", "Go on after a pause or a stop", status=202)
def resume(call: Call) -> None:
    call.worker.aim(call.name, TargetState.STARTED)


@table.put(
    "/connectors/{name}/stop", "End tasks; settings and offsets stay", query=(FORWARD,), status=204
)
def stop(call: Call) -> None:
    call.worker.aim(call.name, TargetState.STOPPED)


@table.post(
    "/connectors/{name}/restart",
    "Restart a connector, or its tasks with it",
    query=(
        Query("includeTasks", bool, "Whether tasks are restarted, too", default=False),
        Query("onlyFailed", bool, "Whether only what has failed is restarted", default=False),
        FORWARD,
    ),
    reply=WholeState,
    status=202,
    also_status=(204,),
)
def restart(call: Call) -> Response:
    include_tasks, only_failed = call.flag("includeTasks"), call.flag("onlyFailed")
    if not include_tasks and not only_failed:
        call.worker.restart_connector(call.name)
        return Response(status_code=204)
    request = RestartRequest(call.name, only_failed, include_tasks)
    return call.respond(state_of(call.worker.restart(request)))


# -- topics ---------------------------------------------------------------------------------------


@table.get(
    "/connectors/{name}/topics",
    "The topics that a connector was seen to use",
    reply=dict[str, Topics],
    errors=(403, 404),
)
def topics(call: Call) -> dict[str, Topics]:
    if not call.service.config.flag("topic.tracking.enable"):
        raise Answered(_FORBIDDEN, "Topic tracking is disabled.")
    return {call.name: Topics(call.worker.topics(call.name))}


@table.put(
    "/connectors/{name}/topics/reset",
    "Forget the topics that a connector was seen to use",
    status=202,
    errors=(403, 404),
)
def reset_topics(call: Call) -> None:
    if not call.service.config.flag("topic.tracking.enable"):
        raise Answered(_FORBIDDEN, "Topic tracking is disabled.")
    if not call.service.config.flag("topic.tracking.allow.reset"):
        raise Answered(_FORBIDDEN, "Topic tracking reset is disabled.")
    call.worker.reset_topics(call.name)
