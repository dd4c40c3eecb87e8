"""From a request to the instance it names: here, or at the proxy that has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.responses import Response

from headrace.rest import errors
from headrace.rest.answers import acceptable, proxy_of
from headrace.rest.bodies import read_body
from headrace.rest.consumers.manager import Name
from headrace.rest.peers import FORWARDED, OWNED

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.rest.consumers.manager import Handle
    from headrace.security.users import User

Handler = Callable[["Request"], Awaitable[Response]]
OwnersHandler = Callable[["Request", "Handle"], Awaitable[Response]]


def owned(handler: OwnersHandler) -> Handler:
    """A route for an instance; wherever the instance is, the answer is the same."""

    async def route(request: Request) -> Response:
        acceptable(request)
        group, instance = request.path_params["group_name"], request.path_params["instance"]
        name = Name(user_of(request), group, instance)
        handle = proxy_of(request).consumers.find(name)
        if handle is None:
            return await _forwarded(request, name)
        if FORWARDED not in request.headers:
            return await handler(request, handle)
        return await _marked(handler, request, handle)

    route.__name__ = handler.__name__
    route.__doc__ = handler.__doc__
    return route


def user_of(request: Request) -> str | None:
    """The name of the user who asks; None without authentication."""
    user: User | None = request.scope.get("user")
    return None if user is None else user.name


async def _marked(handler: OwnersHandler, request: Request, handle: Handle) -> Response:
    """The answer, an error included, with the mark that it is the owner's."""
    try:
        response = await handler(request, handle)
    except errors.RestError as error:
        response = errors.response_of(error)
    response.headers[OWNED] = "true"
    return response


async def _forwarded(request: Request, name: Name) -> Response:
    proxy = proxy_of(request)
    if FORWARDED in request.headers or not proxy.peers.others:
        raise errors.consumer_instance_not_found()
    target = request.scope["raw_path"].decode("ascii")
    if request.scope["query_string"]:
        target += "?" + request.scope["query_string"].decode("ascii")
    body = await read_body(request, proxy.settings)
    reply = await proxy.peers.ask_owner(name, request.method, target, body, request.headers)
    if reply is None:
        raise errors.consumer_instance_not_found()
    return Response(reply.body, reply.status, media_type=reply.headers.get("content-type"))
