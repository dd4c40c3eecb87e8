"""One request, as a handler sees it: path, query and body by what the endpoint declares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import HTTPConnection
from starlette.responses import Response

from headrace.http.endpoint import Endpoint
from headrace.http.faults import BadParameter

if TYPE_CHECKING:
    from headrace.http.service import Service


class Call:
    """What a handler gets; `raw` is the body as it came, `body` what was decoded from it."""

    def __init__(
        self, service: Service, endpoint: Endpoint, request: HTTPConnection, media_type: str
    ) -> None:
        self.service: Any = service
        self.endpoint = endpoint
        self.request: Any = request
        self.media_type = media_type
        self.body_type = ""
        self.body: Any = None
        self.raw = b""

    @property
    def headers(self) -> Any:
        return self.request.headers

    @property
    def user_name(self) -> str | None:
        """Who asks; None without authentication."""
        user: Any = self.request.scope.get("user")
        return None if user is None else user.name

    def path(self, name: str) -> Any:
        """A part of the path; a number where the path has a converter for it."""
        return self.request.path_params[name]

    def query(self, name: str) -> Any:
        """A parameter of the query as a value of its declared type; its default if not given."""
        declared = next(each for each in self.endpoint.query if each.name == name)
        text = self.request.query_params.get(name)
        if not text:
            if declared.is_required:
                raise BadParameter(name, None, "it is required")
            return declared.default
        try:
            value = msgspec.convert(text, declared.type, strict=False)
        except msgspec.ValidationError as error:
            raise BadParameter(name, text, str(error)) from None
        if type(value) is int and not text.removeprefix("-").isdecimal():
            raise BadParameter(name, text, "a whole number is needed")
        return value

    def respond(self, reply: object, status: int | None = None) -> Response:
        """A reply under the media type that the client likes best."""
        endpoint = self.endpoint
        status = endpoint.status if status is None else status
        if endpoint.reply is None:
            return Response(status_code=status)
        if endpoint.is_raw:
            body = str(reply).encode("utf-8", "surrogatepass")
        else:
            body = msgspec.json.encode(reply)
        return Response(body, status, media_type=self.media_type)
