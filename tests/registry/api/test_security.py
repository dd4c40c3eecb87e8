"""Basic authentication, roles, TLS: who may do what, and what an instance is asked for."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.registry.auth import Authenticator, Role, hashed, matches, read_users
from headrace.testing import Broker
from tests.registry.certificates import make_pem
from tests.registry.running import RunningRegistry

SCHEMA = {"schema": '{"type":"string"}'}
ANN, DAN, ROB = "ann:secret", "dan:pass:word", "rob:ä€"


@pytest.fixture(scope="module")
def secured(
    registry_broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningRegistry]:
    """A registry with users, reached over TLS only."""
    folder = tmp_path_factory.mktemp("secured")
    users = folder / "users"
    users.write_text(
        f"# who may do what\nann: {hashed('secret')}, admin\n"
        "dan: plain:pass:word, developer\n\nrob: plain:ä€, read-only\n"
    )
    pem = make_pem(folder, "registry")
    properties = {
        "kafkastore.topic": "secured-schemas",
        "dek.registry.topic": "secured-keys",
        "kafkastore.group.id": "secured",
        "authentication.method": "BASIC",
        "authentication.realm": 'the "realm"',
        "authentication.users.file": str(users),
        "listeners": "https://127.0.0.1:0",
        "inter.instance.protocol": "https",
        "ssl.keystore.location": str(pem),
        "ssl.truststore.location": str(pem),
    }
    with RunningRegistry(registry_broker.bootstrap_servers, **properties) as running:
        yield running


@pytest.fixture(scope="module")
def tls(secured: RunningRegistry) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=secured.properties["ssl.truststore.location"])


@pytest.mark.spec("admin:SR-07")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Basic"},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic bm9jb2xvbg=="},
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic YW5uOndyb25n"},
        {"Authorization": "Basic bm9ib2R5OnNlY3JldA=="},
        {"Authorization": "Basic /////w=="},
    ],
)
def test_strangers_are_401(
    secured: RunningRegistry, tls: ssl.SSLContext, headers: dict[str, str]
) -> None:
    """Without credentials, or with wrong ones, for reads, writes and the short way to an id."""
    for method, path in (("GET", "/subjects"), ("GET", "/schemas/ids/1"), ("DELETE", "/mode")):
        answer = secured.call(method, path, headers=headers, tls=tls)
        assert (answer.status, answer.code) == (401, 401)
        assert answer.headers["www-authenticate"].startswith('Basic realm="the \\"realm\\""')


@pytest.mark.spec("admin:SR-09")
def test_roles(secured: RunningRegistry, tls: ssl.SSLContext, subject: str) -> None:
    """Read-only users read, developers register and delete softly, admins do everything."""
    path = f"/subjects/{subject}"
    refused = secured.call("POST", f"{path}/versions", SCHEMA, user=ROB, tls=tls)
    assert (refused.status, refused.code) == (403, 40301)
    assert "developer" in refused.body["message"]
    assert secured.call("POST", f"{path}/versions", SCHEMA, user=DAN, tls=tls).status == 200
    for user in (ANN, DAN, ROB):
        assert secured.call("GET", f"{path}/versions", user=user, tls=tls).body == [1]
        assert secured.call("POST", path, SCHEMA, user=user, tls=tls).status == 200
        assert secured.call("GET", "/schemas/ids/1", user=user, tls=tls).status == 200
    level = {"compatibility": "NONE"}
    assert secured.call("PUT", f"/config/{subject}", level, user=DAN, tls=tls).status == 403
    assert secured.call("PUT", f"/config/{subject}", level, user=ANN, tls=tls).status == 200
    assert secured.call("DELETE", path, user=ROB, tls=tls).status == 403
    assert secured.call("DELETE", path, user=DAN, tls=tls).status == 200
    assert secured.call("DELETE", f"{path}?permanent=true", user=DAN, tls=tls).status == 403
    assert secured.call("DELETE", f"{path}?permanent=true", user=ANN, tls=tls).status == 200


def test_health_needs_no_user(secured: RunningRegistry, tls: ssl.SSLContext) -> None:
    """Whoever restarts services has no password."""
    assert secured.call("GET", "/healthz", tls=tls).status == 200


def test_tls_is_verified(secured: RunningRegistry) -> None:
    """A client that does not know the authority sees that, and no HTTP."""
    with pytest.raises(ssl.SSLCertVerificationError):
        secured.call("GET", "/subjects", tls=ssl.create_default_context())


def test_a_follower_forwards_over_tls_with_the_users_name(
    secured: RunningRegistry, tls: ssl.SSLContext, subject: str
) -> None:
    """The role is checked where the write is done, too."""
    properties = {
        **{name: value for name, value in secured.properties.items() if name != "listeners"},
        "listeners": "https://127.0.0.1:0",
        "leader.eligibility": "false",
    }
    bootstrap = properties.pop("kafkastore.bootstrap.servers")
    with RunningRegistry(bootstrap, **properties) as follower:
        path = f"/subjects/{subject}/versions"
        assert follower.call("POST", path, SCHEMA, user=DAN, tls=tls).status == 200
        assert follower.call("POST", path, SCHEMA, user=ROB, tls=tls).status == 403
        assert secured.call("GET", path, user=ROB, tls=tls).body == [1]


# -- the file of users -----------------------------------------------------------------------------


def test_passwords_in_three_forms(tmp_path: Path) -> None:
    """scrypt, PBKDF2 and, for tests, plain; the right one matches and no other."""
    digest = hashlib.pbkdf2_hmac("sha256", b"b", b"salt", 1000).hex()
    file = tmp_path / "users"
    file.write_text(
        f"a: {hashed('a')}, admin\nb: pbkdf2:1000:{b'salt'.hex()}:{digest}, developer\n"
        "c: plain:c, READ-ONLY\n"
    )
    users = read_users(str(file))
    assert [user.role for user in users.values()] == [Role.ADMIN, Role.DEVELOPER, Role.READ_ONLY]
    for name, user in users.items():
        assert matches(name, user.stored)
        assert not matches(name + "x", user.stored)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a: b",
        "a: plain:b, boss",
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
    """It names the file, and the line where there is one."""
    file = tmp_path / "users"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"users"):
        read_users(str(file))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_users(str(tmp_path / "missing"))


def test_what_was_proven_is_remembered(tmp_path: Path) -> None:
    """The slow hash is computed once; a wrong password is never remembered."""
    file = tmp_path / "users"
    file.write_text(f"a: {hashed('a')}, admin")
    door = Authenticator(read_users(str(file)), "realm")
    right, wrong = b"Basic YTph", b"Basic YTpi"
    assert door.remembered(right) is None
    assert door.check(right) is not None
    assert door.remembered(right) is not None
    assert door.check(wrong) is None
    assert door.remembered(wrong) is None
