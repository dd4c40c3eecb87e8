"""How a request is rejected, by a route or before it: status, code, text, in a small body."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import msgspec

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_DENIAL = "websocket.http.response"
_POLICY_VIOLATION = 1008


class Error(msgspec.Struct):
    """The body of an error as Confluent's services have it."""

    error_code: int
    message: str


class Refusal(NamedTuple):
    """Status, code and text; the code is the status unless the API has a finer one."""

    status: int
    message: str
    error_code: int = 0
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def code(self) -> int:
        return self.error_code or self.status


Refuse = Callable[[Refusal, Scope, Receive, Send], Awaitable[None]]
"""How a service answers what does not reach a route."""


async def refuse(
    refusal: Refusal, body: bytes, media_type: str, scope: Scope, receive: Receive, send: Send
) -> None:
    """Answer a request, or a WebSocket that was not accepted yet, with an error."""
    prefix = "http.response"
    if scope["type"] == "websocket":
        await receive()
        prefix = _DENIAL
        if _DENIAL not in scope.get("extensions", {}):
            reason = refusal.message[:120]
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": reason})
            return
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", b"%d" % len(body)),
        *refusal.headers,
    ]
    await send({"type": f"{prefix}.start", "status": refusal.status, "headers": headers})
    is_head = scope.get("method") == "HEAD"
    await send({"type": f"{prefix}.body", "body": b"" if is_head else body})


def quoted(text: str) -> str:
    """What a client sent, short and printable, for a message."""
    return re.sub(r"[^\x20-\x7e]", "?", text[:100])
