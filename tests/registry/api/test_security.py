"""Basic authentication, roles, TLS: who may do what, and what an instance is asked for."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.registry.auth import hashed
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
        "authentication.failures.per.minute": "1000",
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
    """A supervisor has no password; all else needs a user, as it does in the REST Proxy."""
    for path in ("/healthz", "/healthz/"):
        assert secured.call("GET", path, tls=tls).status == 200
    for path in ("/", "/metrics", "/openapi.json", "/nowhere"):
        assert secured.call("GET", path, tls=tls).status == 401
    for path in ("/metrics", "/openapi.json"):
        assert secured.call("GET", path, user=ROB, tls=tls).status == 200


def test_wrong_passwords_are_limited_by_address(
    registry_broker: Broker, names: dict[str, str], tmp_path: Path
) -> None:
    """429 with Retry-After, and no password is checked until then; who signed in goes on."""
    users = tmp_path / "users"
    users.write_text(f"ann: {hashed('secret')}, admin\n")
    properties = {
        "authentication.method": "BASIC",
        "authentication.users.file": str(users),
        "authentication.failures.per.minute": "3",
        **names,
    }
    with RunningRegistry(registry_broker.bootstrap_servers, **properties) as running:
        assert running.call("GET", "/subjects", user=ANN).status == 200
        answers = [running.call("GET", "/subjects", user=f"ann:{n}") for n in range(8)]
        assert [answer.status for answer in answers[:3]] == [401] * 3
        refused = next(answer for answer in answers if answer.status == 429)
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.code == 42901
        assert running.call("GET", "/subjects", user=ANN).status == 200
        assert running.call("GET", "/healthz").status == 200


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
