"""Answers of versions 1 and 2: JSON under the media type that the client likes best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.responses import Response

from headrace.rest import errors
from headrace.rest.media_types import choose
from headrace.rest.names import is_topic_name

if TYPE_CHECKING:
    from starlette.requests import Request

    from headrace.rest.context import Proxy

encode: Final = msgspec.json.Encoder().encode


def proxy_of(request: Request) -> Proxy:
    proxy: Proxy = request.app.state.proxy
    return proxy


def answer(request: Request, body: Any, status: int = 200) -> Response:
    """A body of structs and plain values."""
    return Response(encode(body), status, media_type=acceptable(request))


def no_content() -> Response:
    return Response(status_code=204)


def acceptable(request: Request) -> str:
    """The media type of the answer; 406 if the client takes none that there is."""
    return choose(request.headers.get("accept"))


def path_topic(request: Request) -> str:
    """The topic in the path; a name that no topic can have is not found."""
    name: str = request.path_params["topic_name"]
    if not is_topic_name(name):
        raise errors.topic_not_found()
    return name


def path_number(request: Request, name: str) -> int:
    """A partition in the path; what is no such number is not found."""
    text: str = request.path_params[name]
    if not text.isascii() or not text.isdecimal() or int(text) > 0x7FFFFFFF:
        raise errors.partition_not_found()
    return int(text)


def query_number(request: Request, name: str, default: int) -> int:
    """A whole number in the query."""
    text = request.query_params.get(name)
    if text is None:
        return default
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        raise errors.not_found()
    return int(text)


def query_flag(request: Request, name: str) -> bool:
    """Whether a query says `name=true`."""
    text = request.query_params.get(name, "false").lower()
    if text not in ("true", "false", ""):
        raise errors.invalid_field(f"{name}={text!r}: allowed are true and false")
    return text == "true"
