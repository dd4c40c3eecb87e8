"""Passwords that users sign in with by SCRAM: what a broker is sent instead of the password."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.faults import Fault, raise_for
from headrace.client.faults import error_named
from headrace.client.scram import MIN_ITERATIONS
from headrace.errors import Error

MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_SALT_BYTES: Final = 18


class Password(NamedTuple):
    """A password to set."""

    text: str
    iterations: int = MIN_ITERATIONS


def read_credentials(admin: Admin, users: Collection[str]) -> dict[str, dict[str, int] | Fault]:
    """The iterations of each mechanism, by user: of these as far as they have any, or of all."""
    from headrace.wire.messages.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
        UserName,
    )

    asked = [UserName(name=each) for each in users]
    answer = admin.ask(DescribeUserScramCredentialsRequest(users=asked or None))
    raise_for(answer.error_code, answer.error_message)
    names = {number: name for name, number in MECHANISMS.items()}
    return {
        each.user: Fault(error_named(each.error_code), each.error_message or "")
        if each.error_code
        else {
            names.get(info.mechanism, str(info.mechanism)): info.iterations
            for info in each.credential_infos
        }
        for each in answer.results
        if each.error_code != Error.RESOURCE_NOT_FOUND
    }


def change_credentials(admin: Admin, user: str, changes: Mapping[str, Password | None]) -> None:
    """Give a user passwords by mechanism; None takes one away."""
    from headrace.wire.messages.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
        ScramCredentialDeletion,
        ScramCredentialUpsertion,
    )

    deletions, upsertions = [], []
    for mechanism, password in changes.items():
        number = MECHANISMS[mechanism]
        if password is None:
            deletions.append(ScramCredentialDeletion(name=user, mechanism=number))
            continue
        salt = secrets.token_bytes(_SALT_BYTES)
        salted = hashlib.pbkdf2_hmac(
            _HASHES[mechanism], password.text.encode(), salt, password.iterations
        )
        upsertions.append(
            ScramCredentialUpsertion(
                name=user,
                mechanism=number,
                iterations=password.iterations,
                salt=salt,
                salted_password=salted,
            )
        )
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    for each in admin.ask(request).results:
        raise_for(each.error_code, each.error_message)
