"""Who asks, and what the role allows.

Users come from a file, `name: password, role` (security/user_file). Roles: `read-only` may read,
`developer` may also register, look up, check and delete softly, `admin` may do everything: levels,
modes, permanent deletion, keys. `python -m headrace.registry.auth` asks for a password and prints
the form in which the file keeps it.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from headrace.errors import ConfigError
from headrace.security import passwords
from headrace.security.basic import BasicAuthenticator
from headrace.security.user_file import read_user_file


class Role(IntEnum):
    """Ordered: each may do what those before it may."""

    READ_ONLY = 0
    DEVELOPER = 1
    ADMIN = 2


ROLE_NAMES: Final[Mapping[str, Role]] = {
    "read-only": Role.READ_ONLY,
    "readonly": Role.READ_ONLY,
    "developer": Role.DEVELOPER,
    "admin": Role.ADMIN,
}


class User(NamedTuple):
    """Somebody who may sign in."""

    name: str
    stored: str
    role: Role


def hashed(password: str) -> str:
    """The form in which the file keeps a password."""
    return passwords.hashed(password, secrets.token_bytes(passwords.SALT_BYTES))


def read_users(path: str) -> dict[str, User]:
    """The users of a file, by name; each has a role."""
    users = {}
    for name, found in read_user_file(path).items():
        role = ROLE_NAMES.get(found.role)
        if role is None:
            raise ConfigError(
                f"{found.where}: expected `name: password, role` with one of the roles "
                "admin, developer, read-only"
            )
        users[name] = User(name, found.stored, role)
    return users


class Authenticator:
    """From the header of a request to a user. `check` is slow for what it has not seen lately."""

    def __init__(self, users: Mapping[str, User], realm: str) -> None:
        self._users = users
        stored = {name: user.stored for name, user in users.items()}
        self._basic = BasicAuthenticator(stored, secrets.token_bytes(32))
        quoted = realm.replace("\\", "\\\\").replace('"', '\\"')
        self.challenge = f'Basic realm="{quoted}", charset="UTF-8"'

    def remembered(self, header: bytes) -> User | None:
        """The user, if this very header was proven lately; costs next to nothing."""
        name = self._basic.remembered(header, time.monotonic())
        return None if name is None else self._users[name]

    def check(self, header: bytes) -> User | None:
        """The user that this Authorization header proves; None if it proves nobody."""
        name = self._basic.check(header, time.monotonic())
        return None if name is None else self._users[name]


if __name__ == "__main__":
    from getpass import getpass

    sys.stdout.write(hashed(getpass()) + "\n")
