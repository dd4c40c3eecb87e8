"""Passwords as files keep them, and whether a given one is right.

    FORM                        HOW
    scrypt:salt:hash            scrypt, N = 16384, r = 8, p = 1; what we write
    pbkdf2:rounds:salt:hash     PBKDF2 with SHA-256, from other tools
    plain:password              as it is, for tests

Salt and hash are hexadecimal. Hashes are slow on purpose: remember what they proved.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

SALT_BYTES: Final = 16
_COST: Final = 1 << 14
_BLOCK: Final = 8
_MAX_BYTES: Final = 64 << 20


def hashed(password: str, salt: bytes) -> str:
    """The form in which a password is kept."""
    return f"scrypt:{salt.hex()}:{_scrypt(password.encode(), salt).hex()}"


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


def cost_of(stored: str) -> str:
    """What decides how long `matches` takes for a stored password: its form, and the rounds."""
    kind, _, rest = stored.partition(":")
    return f"{kind}:{int(rest.partition(':')[0])}" if kind == "pbkdf2" else kind


def decoy(cost: str, key: bytes) -> str:
    """A stored password of this cost that none matches, from a random key."""
    if cost == "plain":
        return f"plain:{key.hex()}"
    return f"{cost}:{key[:SALT_BYTES].hex()}:{key.hex()}"


def is_well_formed(stored: str) -> bool:
    """Whether this is one of the forms."""
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


def _scrypt(password: bytes, salt: bytes) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=_COST, r=_BLOCK, p=1, maxmem=_MAX_BYTES)
