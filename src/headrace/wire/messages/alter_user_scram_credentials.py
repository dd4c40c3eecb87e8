"""AlterUserScramCredentials (key 51): let users sign in with SCRAM, or no longer (KIP-554)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int8, Int16, Int32


@request(key=51, versions="0", flexible=0)
class AlterUserScramCredentialsRequest:
    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]


@struct
class ScramCredentialDeletion:
    """1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""

    name: str
    mechanism: Int8


@struct
class ScramCredentialUpsertion:
    """The password itself is not sent: only what PBKDF2 made of it with this salt."""

    name: str
    mechanism: Int8
    iterations: Int32
    salt: bytes
    salted_password: bytes


@response(key=51, versions="0", flexible=0)
class AlterUserScramCredentialsResponse:
    throttle_time_ms: Int32 = 0
    results: list[AlterUserScramCredentialsResult]


@struct
class AlterUserScramCredentialsResult:
    """The outcome for one user."""

    user: str
    error_code: Int16
    error_message: str | None
