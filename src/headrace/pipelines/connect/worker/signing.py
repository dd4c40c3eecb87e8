"""Calls between workers, signed with the key that the config topic has: HMAC over the body."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from headrace.pipelines.connect.config.worker import WorkerConfig
from headrace.pipelines.connect.faults import BadRequestException, ConnectRestException
from headrace.pipelines.connect.state.records import SessionKey
from headrace.pipelines.connect.worker.worker import Signature
from headrace.runtime.clock import Clock

AUTHORIZATION: Final = "X-Connect-Authorization"
ALGORITHM: Final = "X-Connect-Request-Signature-Algorithm"

_KEY_BYTES: Final = {
    "HmacSHA1": 64,
    "HmacSHA224": 28,
    "HmacSHA256": 32,
    "HmacSHA384": 48,
    "HmacSHA512": 64,
}
"""How long a key is that Java makes for each algorithm."""
_DIGESTS: Final = {name: name.removeprefix("Hmac").lower() for name in _KEY_BYTES}


def new_key(settings: WorkerConfig, clock: Clock) -> SessionKey:
    """A key as the worker's settings want it."""
    algorithm = settings.text("inter.worker.key.generation.algorithm")
    size = settings.values["inter.worker.key.size"]
    count = size // 8 if isinstance(size, int) else _KEY_BYTES[algorithm]
    return SessionKey(secrets.token_bytes(count), algorithm, clock.now_ms())


def signed(key: SessionKey, algorithm: str, body: bytes) -> dict[str, str]:
    """The headers of a call with this body."""
    digest = hmac.digest(key.key, body, _DIGESTS[algorithm])
    return {AUTHORIZATION: base64.b64encode(digest).decode(), ALGORITHM: algorithm}


def signature_in(headers: Mapping[str, str]) -> Signature | None:
    """What a call was signed with; None if it was not. Names of headers are in lower case."""
    digest, algorithm = headers.get(AUTHORIZATION.lower()), headers.get(ALGORITHM.lower())
    if digest is None or algorithm is None:
        return None
    try:
        return Signature(algorithm, base64.b64decode(digest, validate=True))
    except binascii.Error as fault:
        raise BadRequestException(str(fault)) from fault


def check(
    key: SessionKey | None, accepted: list[str], body: bytes, signature: Signature | None
) -> None:
    """Whether a call comes from another worker; raises what it is answered with if not."""
    if signature is None:
        raise BadRequestException("Internal request missing required signature")
    if signature.algorithm not in accepted or signature.algorithm not in _DIGESTS:
        raise BadRequestException(
            f"This worker does not support the '{signature.algorithm}' key signing algorithm used "
            "by other workers. This worker is currently configured to use: "
            f"[{', '.join(accepted)}]. Check that all workers' configuration files permit the same "
            "set of signature algorithms, and correct any misconfigured worker and restart it."
        )
    if key is None:
        raise ConnectRestException(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "This worker is still starting up and has not been able to read a session key from the "
            "config topic yet",
        )
    digest = hmac.digest(key.key, body, _DIGESTS[signature.algorithm])
    if not hmac.compare_digest(digest, signature.digest):
        raise ConnectRestException(
            HTTPStatus.FORBIDDEN, "Internal request contained invalid signature."
        )
