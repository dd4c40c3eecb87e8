"""Why the layer itself rejects a request. A service may say each of them in its own words."""

from __future__ import annotations

from typing import ClassVar

from headrace.errors import HeadraceError


class Fault(HeadraceError):
    """A request that no handler has seen to its end."""

    status: ClassVar[int] = 400


class MethodNotAllowed(Fault):
    """The path has other methods."""

    status = 405

    def __init__(self, allow: str) -> None:
        super().__init__("HTTP 405 Method Not Allowed")
        self.allow = allow


class NotAcceptable(Fault):
    """None of the media types of the reply is accepted."""

    status = 406

    def __init__(self) -> None:
        super().__init__("HTTP 406 Not Acceptable")


class UnsupportedMediaType(Fault):
    """The body is of a media type that the endpoint does not take, or of none."""

    status = 415

    def __init__(self) -> None:
        super().__init__("HTTP 415 Unsupported Media Type")


class BodyTooLarge(Fault):
    """The body has, or announces, more bytes than are taken."""

    status = 413

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The request's body is larger than {max_bytes} bytes (request.max.bytes)")


class BodyTooSlow(Fault):
    """The body did not come in time."""

    status = 408

    def __init__(self, timeout_s: float) -> None:
        super().__init__(f"The request's body did not arrive within {timeout_s:g} s")


class NoBody(Fault):
    """There is no body where one is needed."""

    def __init__(self) -> None:
        super().__init__("The request has no body, where a JSON object is expected")


class NotJson(Fault):
    """The body cannot be read at all."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Invalid JSON: {reason}")


class NotAsDeclared(Fault):
    """The body is JSON and not of the type that the endpoint takes; the reason says where."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Cannot read the body: {reason}")
        self.reason = reason


class BadParameter(Fault):
    """A parameter of the query that is missing, or not of its type."""

    def __init__(self, name: str, text: str | None, reason: str) -> None:
        given = f"{name} is missing" if text is None else f"{name}={text!r}"
        super().__init__(f"{given}: {reason}")
        self.name = name


class RoleNeeded(Fault):
    """The user may not do this."""

    status = 403

    def __init__(self, user: str, what: str, role: str) -> None:
        super().__init__(f"The user {user} may not {what}: it takes the role {role}")
