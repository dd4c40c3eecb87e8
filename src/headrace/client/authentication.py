"""Signing in on a fresh connection: SaslHandshake, then the mechanism inside SaslAuthenticate."""

from __future__ import annotations

import secrets
from typing import Final

from headrace.client.connection import Connection, Unsupported
from headrace.client.faults import AuthenticationFailed, error_named
from headrace.client.scram import ScramClient
from headrace.client.settings import ClientSettings
from headrace.errors import Error
from headrace.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from headrace.wire.messages.sasl_handshake import SaslHandshakeRequest

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_WRAPPED: Final = 1
"""The version of SaslHandshake after which tokens travel inside SaslAuthenticate."""


def authenticate(connection: Connection, settings: ClientSettings) -> None:
    """Sign in as the settings say; nothing to do where the protocol has no SASL."""
    if not settings.has_sasl:
        return
    username, password = settings.sasl_username, settings.sasl_password
    assert username is not None, "settings without credentials are refused when they are read"
    assert password is not None
    try:
        connection.newest(SaslHandshakeRequest)
    except Unsupported:
        raise _without_sasl(connection) from None
    _shake_hands(connection, settings.sasl_mechanism)
    try:
        if settings.sasl_mechanism == "PLAIN":
            _say(connection, f"\0{username}\0{password}".encode())
            return
        scram = ScramClient(
            _HASHES[settings.sasl_mechanism], username, password, secrets.token_urlsafe(24)
        )
        challenge = _say(connection, scram.first())
        scram.verify(_say(connection, scram.final(challenge)))
    except AuthenticationFailed as error:
        connection.close()
        raise AuthenticationFailed(
            f"{connection.address} does not sign in {username!r} with "
            f"{settings.sasl_mechanism}: {error}. Check sasl.username, sasl.password and "
            "sasl.mechanism"
        ) from None


def _shake_hands(connection: Connection, mechanism: str) -> None:
    answer = connection.call(SaslHandshakeRequest(mechanism=mechanism), _WRAPPED)
    if answer.error_code == Error.UNSUPPORTED_SASL_MECHANISM:
        raise AuthenticationFailed(
            f"{connection.address} does not offer sasl.mechanism={mechanism}; "
            f"it offers {', '.join(answer.mechanisms) or 'none'}"
        )
    if answer.error_code:
        raise _without_sasl(connection)


def _without_sasl(connection: Connection) -> AuthenticationFailed:
    return AuthenticationFailed(
        f"{connection.address} is a listener without SASL: use security.protocol=PLAINTEXT or SSL, "
        "or the port of a SASL listener"
    )


def _say(connection: Connection, token: bytes) -> bytes:
    answer = connection.call(SaslAuthenticateRequest(auth_bytes=token))
    if answer.error_code:
        raise AuthenticationFailed(answer.error_message or error_named(answer.error_code).name)
    said: bytes = answer.auth_bytes
    return said
