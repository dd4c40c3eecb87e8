"""SaslAuthenticate (key 36): one step of a mechanism's conversation (KIP-152)."""

from __future__ import annotations

from ..schema import request, response, v
from ..types import Int16, Int64


@request(key=36, versions="0-2", flexible=2)
class SaslAuthenticateRequest:
    """What the mechanism says next.

    v1 the answer may limit the session's life (KIP-368) · v2 flexible
    """

    auth_bytes: bytes


@response(key=36, versions="0-2", flexible=2)
class SaslAuthenticateResponse:
    """What the other side says to it. v1 how long the session lives (KIP-368) · v2 flexible."""

    error_code: Int16
    error_message: str | None
    auth_bytes: bytes
    session_lifetime_ms: Int64 = v(1, default=0)
