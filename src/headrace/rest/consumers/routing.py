"""From a request to the instance it names: here, or at the proxy that has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from headrace.http.resource import refused
from headrace.rest import errors
from headrace.rest.call import Call
from headrace.rest.consumers.manager import Name
from headrace.rest.peers import FORWARDED, OWNED

if TYPE_CHECKING:
    from headrace.rest.consumers.manager import Handle

OwnersHandler = Callable[[Call, "Handle"], Awaitable[Any]]


def is_elsewhere(call: Call) -> bool:
    """Whether a request is for an instance that is not here."""
    return "instance" in call.request.path_params and call.proxy.consumers.find(_name(call)) is None


def _name(call: Call) -> Name:
    return Name(call.user_name, call.path("group_name"), call.path("instance"))


def owned(handler: OwnersHandler) -> Callable[[Call], Awaitable[Any]]:
    """A handler for an instance; wherever the instance is, the answer is the same."""

    async def route(call: Call) -> Any:
        name = _name(call)
        handle = call.proxy.consumers.find(name)
        if handle is None:
            return await _forwarded(call, name)
        if FORWARDED not in call.headers:
            return await handler(call, handle)
        return await _marked(handler, call, handle)

    return route


async def _marked(handler: OwnersHandler, call: Call, handle: Handle) -> Response:
    """The answer, an error included, with the mark that it is the owner's."""
    try:
        reply = await handler(call, handle)
        response = reply if isinstance(reply, Response) else call.respond(reply)
    except errors.RestError as error:
        response = refused(call.service, error, call.endpoint, "a request of another instance")
    response.headers[OWNED] = "true"
    return response


async def _forwarded(call: Call, name: Name) -> Response:
    proxy, scope = call.proxy, call.request.scope
    if FORWARDED in call.headers or not proxy.peers.others:
        raise errors.consumer_instance_not_found()
    target = scope["raw_path"].decode("ascii")
    if scope["query_string"]:
        target += "?" + scope["query_string"].decode("ascii")
    reply = await proxy.peers.ask_owner(name, call.request.method, target, call.raw, call.headers)
    if reply is None:
        raise errors.consumer_instance_not_found()
    return Response(reply.body, reply.status, media_type=reply.headers.get("content-type"))
