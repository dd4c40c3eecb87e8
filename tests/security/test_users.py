"""The file of users, the forms of passwords, and headers that prove who somebody is."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import ConfigError
from headrace.security.basic import BasicAuthenticator
from headrace.security.passwords import hashed, matches
from headrace.security.users import Role, User, read_users

SALT = b"0123456789abcdef"
KEY = bytes(range(32))
ANN = User("ann", hashed("secret", SALT), Role.ADMIN)


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
        f"b: pbkdf2:1000:{SALT.hex()}:{older}, read-only\n\nc: plain:c:d, developer\n"
    )
    users = read_users(str(file))
    assert [user.role for user in users.values()] == [Role.ADMIN, Role.READ_ONLY, Role.DEVELOPER]
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
        read_users(str(file))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_users(str(tmp_path / "missing"))


def test_what_was_proven_is_remembered_for_a_while() -> None:
    """Five minutes since its last use; a wrong password is never remembered."""
    door = BasicAuthenticator({"ann": ANN}, KEY)
    right, wrong = header("ann", "secret"), header("ann", "Secret")
    assert door.remembered(right, 0) is None
    assert door.check(right, 0) == ANN
    for now_s in (299, 598, 897):
        assert door.remembered(right, now_s) == ANN
    assert door.remembered(wrong, 898) is None
    assert door.remembered(right, 1_198) is None
    assert door.check(wrong, 0) is None
    assert door.remembered(wrong, 0) is None


def test_nobody_makes_the_proofs_of_others_forgotten() -> None:
    """A user has one proof, however the header is written and whatever else is sent."""
    ann, bob = User("ann", "plain:a", Role.ADMIN), User("bob", "plain:b", Role.READ_ONLY)
    door = BasicAuthenticator({"ann": ann, "bob": bob}, KEY)
    assert door.check(header("ann", "a"), 0) == ann
    for spaces in range(2_000):
        spelled = header("bob", "b").replace(b" ", b" " * (spaces + 1))
        assert door.check(spelled, 0) == bob
    assert door.remembered(header("bob", "b"), 1) == bob
    assert door.remembered(header("ann", "a"), 1) == ann


def test_the_name_that_a_header_gives() -> None:
    """Proven or not; none where the header cannot be read, and a bounded part of a long one."""
    door = BasicAuthenticator({"ann": ANN}, KEY)
    assert [door.claimed_name(header(name, "x")) for name in ("ann", "bob")] == ["ann", "bob"]
    assert [door.claimed_name(sent) for sent in (b"", b"Basic !", b"Bearer x")] == ["", "", ""]
    assert len(door.claimed_name(header("x" * 2_000, "y"))) == 100


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
    assert (
        BasicAuthenticator({"ann": User("ann", "plain:secret", Role.ADMIN)}, KEY).check(sent, 0)
        is None
    )


def test_everybody_has_a_role(tmp_path: Path) -> None:
    """One of three, in any case; a line without one is refused."""
    file = tmp_path / "users"
    file.write_text("a: plain:a, admin\nb: plain:b, developer\nc: plain:c, READ-ONLY\n")
    users = read_users(str(file))
    assert [user.role for user in users.values()] == [Role.ADMIN, Role.DEVELOPER, Role.READ_ONLY]
    for bad in ("a: plain:b, boss", "a: plain:b"):
        file.write_text(bad)
        with pytest.raises(ConfigError, match=r"line 1: .* one of the roles"):
            read_users(str(file))


def test_an_unknown_user_takes_as_long_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every name costs the same hashes, whatever forms of passwords the file has."""
    computed: list[tuple[str, int]] = []
    scrypt, pbkdf2 = hashlib.scrypt, hashlib.pbkdf2_hmac

    def counted_scrypt(password: bytes, **options: Any) -> bytes:
        computed.append(("scrypt", options["n"]))
        return scrypt(password, **options)

    def counted_pbkdf2(kind: str, password: bytes, salt: bytes, rounds: int) -> bytes:
        computed.append((kind, rounds))
        return pbkdf2(kind, password, salt, rounds)

    monkeypatch.setattr(hashlib, "scrypt", counted_scrypt)
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", counted_pbkdf2)
    right = pbkdf2("sha256", b"c", SALT, 500).hex()
    users = {
        "ann": ANN,
        "bob": User("bob", "plain:b", Role.ADMIN),
        "cyd": User("cyd", f"pbkdf2:500:{SALT.hex()}:{right}", Role.ADMIN),
        "dan": User("dan", f"pbkdf2:700:{SALT.hex()}:{right}", Role.ADMIN),
    }
    for file in (users, {"bob": users["bob"]}, {"cyd": users["cyd"]}):
        door = BasicAuthenticator(file, KEY)
        spent = set()
        for name in (*file, "nobody"):
            computed.clear()
            assert door.check(header(name, "wrong"), 0) is None
            spent.add(tuple(computed))
        assert len(spent) == 1, spent
    door = BasicAuthenticator(users, KEY)
    for name, password in {"ann": "secret", "bob": "b", "cyd": "c"}.items():
        assert door.check(header(name, password), 0) == users[name]
