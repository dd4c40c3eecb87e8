"""HTTP's basic authentication: from a header to a user.

Hashes of passwords are slow on purpose, so what was proven is remembered for a while: as a digest
under a key of this process, and never as the password. Each use renews a proof: the file of users
is read once, so one that ends revokes nothing, and would only make a client that is at work prove
itself again. Time and chance are arguments.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final, Protocol

from headrace.security.passwords import cost_of, decoy, matches
from headrace.security.users import Role, User, read_users

_REMEMBER_S: Final = 300.0
_MAX_HEADER_BYTES: Final = 4_096
_MAX_NAME: Final = 100


class AuthenticationSettings(Protocol):
    """What the settings of a service say about its users."""

    @property
    def authentication_method(self) -> str: ...
    @property
    def authentication_users_file(self) -> str | None: ...
    @property
    def authentication_roles(self) -> tuple[Role, ...]: ...


class BasicAuthenticator:
    """`users` are all who may sign in, by name; `key` is as secret and as random as can be."""

    def __init__(self, users: Mapping[str, User], key: bytes) -> None:
        self._users = users
        self._key = key
        # By name, the digest of the one password that is right and until when it is remembered:
        # never more entries than users, so one user cannot evict the proofs of others.
        self._proven: dict[str, tuple[bytes, float]] = {}
        # One for each way in which the file keeps passwords. Every check computes all of them, so
        # that a name that is not in the file takes as long as any name that is.
        costs = sorted({cost_of(user.stored) for user in users.values()})
        self._decoys = {cost: decoy(cost, key) for cost in costs}

    def claimed_name(self, header: bytes) -> str:
        """Who the header says it comes from, proven or not; empty if it cannot be read."""
        credentials = _credentials(header)
        return "" if credentials is None else credentials[0][:_MAX_NAME]

    def remembered(self, header: bytes, now_s: float) -> User | None:
        """The user, if the same was proven or used lately; costs next to nothing."""
        credentials = _credentials(header)
        if credentials is None:
            return None
        name, password = credentials
        digest, until_s = self._proven.get(name, (b"", 0.0))
        if until_s <= now_s or digest != self._digest(password):
            return None
        self._proven[name] = (digest, now_s + _REMEMBER_S)
        return self._users[name]

    def check(self, header: bytes, now_s: float) -> User | None:
        """The user that this Authorization header proves; None if it proves none. Slow."""
        credentials = _credentials(header)
        if credentials is None:
            return None
        name, password = credentials
        user = self._users.get(name)
        if not self._is_right(user, password) or user is None:
            return None
        self._proven[name] = (self._digest(password), now_s + _REMEMBER_S)
        return user

    def _is_right(self, user: User | None, password: str) -> bool:
        own = None if user is None else cost_of(user.stored)
        is_right = False
        for cost, stored in self._decoys.items():
            if user is not None and cost == own:
                is_right = matches(password, user.stored)
            else:
                matches(password, stored)
        return is_right

    def _digest(self, password: str) -> bytes:
        return hashlib.blake2b(password.encode(), key=self._key, digest_size=16).digest()


def read_authenticator(settings: AuthenticationSettings, key: bytes) -> BasicAuthenticator | None:
    """What signs clients in; None where every client may do everything."""
    if settings.authentication_method != "BASIC":
        return None
    assert settings.authentication_users_file is not None, "settings are checked"
    users = read_users(settings.authentication_users_file, settings.authentication_roles)
    return BasicAuthenticator(users, key)


def _credentials(header: bytes) -> tuple[str, str] | None:
    scheme, _, encoded = header.strip().partition(b" ")
    if scheme.lower() != b"basic" or len(header) > _MAX_HEADER_BYTES:
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    name, colon, password = text.partition(":")
    return (name, password) if colon else None
