"""SaslHandshake (key 17): which mechanism the client will sign in with (KIP-43)."""

from __future__ import annotations

from ..schema import request, response
from ..types import Int16


@request(key=17, versions="0-1")
class SaslHandshakeRequest:
    """The mechanism.

    After v0 the mechanism's own bytes follow bare, after v1 inside of SaslAuthenticate (KIP-152).
    """

    mechanism: str


@response(key=17, versions="0-1")
class SaslHandshakeResponse:
    """Whether to go on, and every mechanism that the listener takes."""

    error_code: Int16
    mechanisms: list[str]
