"""From a request to the instance it names: here, or at the proxy that has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.responses import Response

from headrace.rest import errors
from headrace.rest.answers import acceptable, proxy_of
from headrace.rest.bodies import read_body
from headrace.rest.peers import FORWARDED

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.rest.consumers.manager import Handle

Handler = Callable[["Request"], Awaitable[Response]]


def owned(handler: Callable[[Request, Handle], Awaitable[Response]]) -> Handler:
    """A route for an instance; wherever the instance is, the answer is the same."""

    async def route(request: Request) -> Response:
        acceptable(request)
        group, name = request.path_params["group_name"], request.path_params["instance"]
        handle = proxy_of(request).consumers.find(group, name)
        if handle is not None:
            return await handler(request, handle)
        return await _forwarded(request, (group, name))

    route.__name__ = handler.__name__
    route.__doc__ = handler.__doc__
    return route


async def _forwarded(request: Request, owned_by: tuple[str, str]) -> Response:
    proxy = proxy_of(request)
    if FORWARDED in request.headers or not proxy.peers.others:
        raise errors.consumer_instance_not_found()
    target = request.scope["raw_path"].decode("ascii")
    if request.scope["query_string"]:
        target += "?" + request.scope["query_string"].decode("ascii")
    body = await read_body(request, proxy.settings)
    reply = await proxy.peers.ask_owner(owned_by, request.method, target, body, request.headers)
    if reply is None:
        raise errors.consumer_instance_not_found()
    return Response(reply.body, reply.status, media_type=reply.headers.get("content-type"))
