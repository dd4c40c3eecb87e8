"""Basic authentication, roles, TLS: who may do what, and what an instance is asked for."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.registry.auth import Role, hashed, read_users
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
    registered = secured.call("POST", f"{path}/versions", SCHEMA, user=DAN, tls=tls)
    assert registered.status == 200
    for user in (ANN, DAN, ROB):
        assert secured.call("GET", f"{path}/versions", user=user, tls=tls).body == [1]
        assert secured.call("POST", path, SCHEMA, user=user, tls=tls).status == 200
        by_id = f"/schemas/ids/{registered.body['id']}"
        assert secured.call("GET", by_id, user=user, tls=tls).status == 200
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


@pytest.mark.spec("admin:SR-10")
def test_a_follower_forwards_over_tls_with_the_users_name(
    secured: RunningRegistry, tls: ssl.SSLContext, subject: str
) -> None:
    """The role is checked where the write is done, too.

    An instance of another data centre is such a follower: it is never the primary, and reads and
    serves what the primary wrote.
    """
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
