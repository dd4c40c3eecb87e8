"""DescribeUserScramCredentials (key 50): which users have passwords for SCRAM (KIP-554)."""

from __future__ import annotations

from ..schema import request, response, struct
from ..types import Int8, Int16, Int32


@request(key=50, versions="0", flexible=0)
class DescribeUserScramCredentialsRequest:
    """The users to describe; null and empty mean all."""

    users: list[UserName] | None


@struct
class UserName:
    name: str


@response(key=50, versions="0", flexible=0)
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]


@struct
class DescribeUserScramCredentialsResult:
    """One user, or why it cannot be described."""

    user: str
    error_code: Int16
    error_message: str | None
    credential_infos: list[CredentialInfo]


@struct
class CredentialInfo:
    """1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""

    mechanism: Int8
    iterations: Int32
