"""Who may use the proxy: HTTP basic authentication from a file of users.

One user per line, `name: password` or `name: password, role` as Schema Registry has it (roles mean
nothing here); `#` begins a comment. A password is a hash (`scrypt:salt:hash`, as
`python -m headrace.registry.auth` prints it, or `pbkdf2:rounds:salt:hash`), or `plain:` and the
password itself, for tests. The file is read once.

Hashes are slow on purpose, so what was proven is remembered for a while, as a digest.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headrace.errors import ConfigError

_MAX_FILE_BYTES: Final = 1 << 20
_MAX_HEADER_LENGTH: Final = 4096
_REMEMBERED: Final = 1024
_REMEMBER_S: Final = 300.0
_DECOY: Final = "scrypt:" + "00" * 16 + ":" + "00" * 64


def read_users(path: str) -> dict[str, str]:
    """The users of a file and how their passwords are kept."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"authentication.users.file={path!r} cannot be read: {error}") from None
    if len(text) > _MAX_FILE_BYTES:
        raise ConfigError(f"authentication.users.file={path!r} is larger than 1 MiB")
    users = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, rest = line.partition(":")
        stored = rest.partition(",")[0].strip()
        if not name.strip() or not _is_well_formed(stored):
            raise ConfigError(
                f"{path}, line {number}: expected `name: password` with a password of the form "
                "scrypt:salt:hash, pbkdf2:rounds:salt:hash or plain:password"
            )
        users[name.strip()] = stored
    if not users:
        raise ConfigError(f"authentication.users.file={path!r} names no user: nobody could sign in")
    return users


def _is_well_formed(stored: str) -> bool:
    kind, *parts = stored.split(":")
    try:
        if kind == "pbkdf2":
            rounds, salt, digest = parts
            return int(rounds) > 0 and bool(bytes.fromhex(salt) and bytes.fromhex(digest))
        if kind == "scrypt":
            salt, digest = parts
            return bool(bytes.fromhex(salt) and bytes.fromhex(digest))
    except ValueError:
        return False
    return kind == "plain" and bool(parts)


def matches(password: str, stored: str) -> bool:
    """Whether this is the password; takes as long for a wrong one as for the right one."""
    kind, _, rest = stored.partition(":")
    given = password.encode()
    if kind == "plain":
        return hmac.compare_digest(given, rest.encode())
    if kind == "scrypt":
        salt, _, digest = rest.partition(":")
        found = hashlib.scrypt(
            given, salt=bytes.fromhex(salt), n=1 << 14, r=8, p=1, maxmem=64 << 20
        )
    else:
        rounds, salt, digest = rest.split(":")
        found = hashlib.pbkdf2_hmac("sha256", given, bytes.fromhex(salt), int(rounds))
    return hmac.compare_digest(found, bytes.fromhex(digest))


class Authenticator:
    """From an Authorization header to the name of a user."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self._key = secrets.token_bytes(32)
        self._proven: dict[bytes, tuple[float, str]] = {}

    def remembered(self, header: str) -> str | None:
        """The user, if this very header was proven lately."""
        found = self._proven.get(self._digest(header))
        return found[1] if found is not None and found[0] > time.monotonic() else None

    def check(self, header: str) -> str | None:
        """The user that this header proves; None if it proves nobody. Slow."""
        credentials = _credentials(header)
        if credentials is None:
            return None
        name, password = credentials
        # Somebody who is not in the file costs the same time as somebody who is.
        is_right = matches(password, self._users.get(name, _DECOY))
        if not is_right or name not in self._users:
            return None
        if len(self._proven) >= _REMEMBERED:
            self._proven.clear()
        self._proven[self._digest(header)] = (time.monotonic() + _REMEMBER_S, name)
        return name

    def _digest(self, header: str) -> bytes:
        return hashlib.blake2b(header.encode(), key=self._key, digest_size=16).digest()


def _credentials(header: str) -> tuple[str, str] | None:
    scheme, _, encoded = header.strip().partition(" ")
    if scheme.lower() != "basic" or len(header) > _MAX_HEADER_LENGTH:
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    name, colon, password = text.partition(":")
    return (name, password) if colon else None
