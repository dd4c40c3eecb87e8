"""The file of users, the forms of passwords, and headers that prove who somebody is."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.security.basic import BasicAuthenticator
from headrace.security.passwords import hashed, matches
from headrace.security.user_file import read_user_file

SALT = b"0123456789abcdef"
KEY = bytes(range(32))


def header(name: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())


def test_passwords_in_three_forms(tmp_path: Path) -> None:
    """scrypt, PBKDF2 and, for tests, plain; the right one matches and no other."""
    strong = hashlib.scrypt(b"a", salt=SALT, n=1 << 14, r=8, p=1, maxmem=64 << 20).hex()
    older = hashlib.pbkdf2_hmac("sha256", b"b", SALT, 1000).hex()
    assert hashed("a", SALT) == f"scrypt:{SALT.hex()}:{strong}"
    file = tmp_path / "users"
    file.write_text(
        f"# who may do what\na: {hashed('a', SALT)}, Admin\n"
        f"b: pbkdf2:1000:{SALT.hex()}:{older}\n\nc: plain:c:d\n"
    )
    users = read_user_file(str(file))
    assert [user.role for user in users.values()] == ["admin", "", ""]
    for name, password in {"a": "a", "b": "b", "c": "c:d"}.items():
        assert matches(password, users[name].stored)
        assert not matches(password + "x", users[name].stored)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a: b",
        "a: b, admin",
        "a: scrypt:zz:zz, admin",
        "a: scrypt:00, admin",
        "a: pbkdf2:0:00:00, admin",
        "a: pbkdf2:x, admin",
        ": plain:b, admin",
        "x" * (2 << 20),
    ],
)
def test_a_bad_file_is_a_config_error(tmp_path: Path, text: str) -> None:
    """It names the file, and the line where there is one: nobody is let in by mistake."""
    file = tmp_path / "users"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"users"):
        read_user_file(str(file))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_user_file(str(tmp_path / "missing"))


def test_what_was_proven_is_remembered_for_a_while() -> None:
    """The slow hash is computed once in five minutes; a wrong password is never remembered."""
    door = BasicAuthenticator({"ann": hashed("secret", SALT)}, KEY)
    right, wrong = header("ann", "secret"), header("ann", "Secret")
    assert door.remembered(right, 0) is None
    assert door.check(right, 0) == "ann"
    assert door.remembered(right, 299) == "ann"
    assert door.remembered(right, 301) is None
    assert door.check(wrong, 0) is None
    assert door.remembered(wrong, 0) is None


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"Basic",
        b"Basic !",
        b"Basic /w==",
        b"Bearer x",
        b"Basic " + base64.b64encode(b"ann"),
        b"Basic " + b"A" * 9_000,
        header("bob", "secret"),
        header("", ""),
    ],
)
def test_a_header_that_proves_nobody(sent: bytes) -> None:
    """Whatever it is, it is nobody, and nothing is raised."""
    assert BasicAuthenticator({"ann": "plain:secret"}, KEY).check(sent, 0) is None
