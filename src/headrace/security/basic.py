"""HTTP's basic authentication: from a header to the name of a user.

Hashes of passwords are slow on purpose, so what was proven is remembered for a while: as a digest
under a key of this process, and never as the password. Time and chance are arguments.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import Final

from headrace.security.passwords import SALT_BYTES, hashed, matches

_REMEMBERED: Final = 1_024
_REMEMBER_S: Final = 300.0
_MAX_HEADER_BYTES: Final = 4_096


class BasicAuthenticator:
    """`users` are stored passwords by name; `key` is as secret and as random as can be."""

    def __init__(self, users: Mapping[str, str], key: bytes) -> None:
        self._users = users
        self._key = key
        self._proven: dict[bytes, tuple[float, str]] = {}
        # Somebody who is not in the file costs the same time as somebody who is.
        self._decoy = hashed(key.hex(), key[:SALT_BYTES])

    def remembered(self, header: bytes, now_s: float) -> str | None:
        """The user, if this very header was proven lately; costs next to nothing."""
        found = self._proven.get(self._digest(header))
        return found[1] if found is not None and found[0] > now_s else None

    def check(self, header: bytes, now_s: float) -> str | None:
        """The user that this Authorization header proves; None if it proves nobody. Slow."""
        credentials = _credentials(header)
        if credentials is None:
            return None
        name, password = credentials
        stored = self._users.get(name)
        is_right = matches(password, self._decoy if stored is None else stored)
        if stored is None or not is_right:
            return None
        if len(self._proven) >= _REMEMBERED:
            self._proven.clear()
        self._proven[self._digest(header)] = (now_s + _REMEMBER_S, name)
        return name

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
