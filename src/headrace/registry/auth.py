"""Who asks, and what the role allows: HTTP basic authentication from a file of users.

One user per line, `name: password, role`; `#` begins a comment. The password is the hash that
`python -m headrace.registry.auth` prints (scrypt, or PBKDF2 with SHA-256), or `plain:` and the
password itself, for tests. Roles: `read-only` may read, `developer` may also register, look up,
check and delete softly, `admin` may do everything: levels, modes, permanent deletion, keys.

The file is read once, at the start. Hashes are slow on purpose, so what was proven is remembered
for a while, as a digest and never as the password.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import sys
import time
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple

from headrace.errors import ConfigError

_MAX_FILE_BYTES: Final = 1 << 20
_REMEMBERED: Final = 1_024
_REMEMBER_S: Final = 300.0
_MAX_HEADER_BYTES: Final = 4_096

_SCRYPT_COST: Final = 1 << 14
_SCRYPT_BLOCK: Final = 8
_SCRYPT_MAX_BYTES: Final = 64 << 20
_SALT_BYTES: Final = 16


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
    """A line of the file."""

    name: str
    stored: str
    role: Role


def hashed(password: str) -> str:
    """The form in which a password is kept: `scrypt:salt:hash`."""
    salt = secrets.token_bytes(_SALT_BYTES)
    digest = _scrypt(password.encode(), salt)
    return f"scrypt:{salt.hex()}:{digest.hex()}"


def matches(password: str, stored: str) -> bool:
    """Whether this is the password; takes as long for a wrong one as for the right one."""
    kind, _, rest = stored.partition(":")
    given = password.encode()
    if kind == "plain":
        return hmac.compare_digest(given, rest.encode())
    if kind == "scrypt":
        salt, _, digest = rest.partition(":")
        return hmac.compare_digest(_scrypt(given, bytes.fromhex(salt)), bytes.fromhex(digest))
    rounds, salt, digest = rest.split(":")
    found = hashlib.pbkdf2_hmac("sha256", given, bytes.fromhex(salt), int(rounds))
    return hmac.compare_digest(found, bytes.fromhex(digest))


def _scrypt(password: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(
        password, salt=salt, n=_SCRYPT_COST, r=_SCRYPT_BLOCK, p=1, maxmem=_SCRYPT_MAX_BYTES
    )


def read_users(path: str) -> dict[str, User]:
    """The users of a file, by name."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"authentication.users.file={path!r} cannot be read: {error}") from None
    if len(text) > _MAX_FILE_BYTES:
        raise ConfigError(f"authentication.users.file={path!r} is larger than 1 MiB")
    users = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            user = _user(line, f"{path}, line {number}")
            users[user.name] = user
    if not users:
        raise ConfigError(f"authentication.users.file={path!r} names no user: nobody could sign in")
    return users


def _user(line: str, where: str) -> User:
    name, _, rest = line.partition(":")
    stored, _, role = rest.rpartition(",")
    name, stored, role = name.strip(), stored.strip(), role.strip().lower()
    if not name or not stored or role not in ROLE_NAMES:
        raise ConfigError(
            f"{where}: expected `name: password, role` with one of the roles "
            "admin, developer, read-only"
        )
    if not _is_well_formed(stored):
        raise ConfigError(
            f"{where}: the password is no hash: write what `python -m headrace.registry.auth` "
            "prints, pbkdf2:rounds:salt:hash in hexadecimal, or plain:password for tests"
        )
    return User(name, stored, ROLE_NAMES[role])


def _is_well_formed(stored: str) -> bool:
    kind, *parts = stored.split(":")
    try:
        if kind == "plain":
            return len(parts) >= 1
        if kind == "scrypt":
            return len(parts) == 2 and all(bytes.fromhex(part) for part in parts)
        if kind == "pbkdf2":
            rounds, salt, digest = parts
            return int(rounds) > 0 and bool(bytes.fromhex(salt) and bytes.fromhex(digest))
    except ValueError:
        return False
    return False


class Authenticator:
    """From the header of a request to a user. `check` is slow for what it has not seen lately."""

    def __init__(self, users: Mapping[str, User], realm: str) -> None:
        self._users = users
        self._key = secrets.token_bytes(32)
        self._proven: dict[bytes, tuple[float, User]] = {}
        # Somebody who is not in the file costs the same time as somebody who is.
        self._decoy = hashed(secrets.token_hex(8))
        quoted = realm.replace("\\", "\\\\").replace('"', '\\"')
        self.challenge = f'Basic realm="{quoted}", charset="UTF-8"'

    def remembered(self, header: bytes) -> User | None:
        """The user, if this very header was proven lately; costs next to nothing."""
        found = self._proven.get(self._digest(header))
        if found is None or found[0] < time.monotonic():
            return None
        return found[1]

    def check(self, header: bytes) -> User | None:
        """The user that this Authorization header proves; None if it proves nobody."""
        credentials = _credentials(header)
        if credentials is None:
            return None
        name, password = credentials
        user = self._users.get(name)
        is_right = matches(password, user.stored if user is not None else self._decoy)
        if user is None or not is_right:
            return None
        if len(self._proven) >= _REMEMBERED:
            self._proven.clear()
        self._proven[self._digest(header)] = (time.monotonic() + _REMEMBER_S, user)
        return user

    def _digest(self, header: bytes) -> bytes:
        return hashlib.blake2b(header, key=self._key, digest_size=16).digest()


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


if __name__ == "__main__":
    from getpass import getpass

    sys.stdout.write(hashed(getpass()) + "\n")
