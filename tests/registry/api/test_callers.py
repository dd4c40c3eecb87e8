"""Web pages and names: what a browser can make the registry do for a page of another site."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing import Broker
from tests.registry.running import RunningRegistry

SCHEMA = {"schema": '{"type":"string"}'}
SHOP = "https://shop.example"


@pytest.fixture(scope="module")
def shared(registry_broker: Broker) -> Iterator[RunningRegistry]:
    """A registry with a further name, which pages of a shop may read."""
    properties = {
        "kafkastore.topic": "shared-schemas",
        "dek.registry.topic": "shared-keys",
        "kafkastore.group.id": "shared",
        "access.control.allow.origin": SHOP,
        "access.control.allow.methods": "GET",
        "access.control.allow.host": "registry.example",
    }
    with RunningRegistry(registry_broker.bootstrap_servers, **properties) as running:
        yield running


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8081", "10.0.0.1", ""])
def test_421_for_a_name_that_is_not_the_registrys(
    registry: RunningRegistry, subject: str, host: str
) -> None:
    """DNS rebinding: also on the short way to an id, and for what needs no user."""
    headers = {"Host": host}
    for path in ("/subjects", "/schemas/ids/1", "/healthz", "/metrics", "/openapi.json"):
        answer = registry.call("GET", path, headers=headers)
        assert (answer.status, answer.code) == (421, 421)
    versions = f"/subjects/{subject}/versions"
    assert registry.call("POST", versions, SCHEMA, headers=headers).status == 421
    assert registry.call("GET", versions).status == 404


def test_the_registrys_own_names(registry: RunningRegistry, shared: RunningRegistry) -> None:
    """Its address, the names of loopback, and those that are set."""
    for host in ("localhost:1", "127.0.0.1", "[::1]"):
        assert registry.call("GET", "/subjects", headers={"Host": host}).status == 200
    headers = {"Host": "registry.example:443"}
    assert shared.call("GET", "/subjects", headers=headers).status == 200
    assert registry.call("GET", "/subjects", headers=headers).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_403_for_pages_of_other_sites(
    registry: RunningRegistry, shared: RunningRegistry, subject: str, headers: dict[str, str]
) -> None:
    """They neither read nor register nor delete."""
    versions = f"/subjects/{subject}/versions"
    for running in (registry, shared):
        for path in ("/subjects", "/schemas/ids/1"):
            assert running.call("GET", path, headers=headers).status == 403
        assert running.call("POST", versions, SCHEMA, headers=headers).status == 403
        assert running.call("DELETE", "/mode", headers=headers).status == 403
    assert registry.call("GET", versions).status == 404


def test_allowed_and_own_pages(
    registry: RunningRegistry, shared: RunningRegistry, subject: str
) -> None:
    """The shop's pages read, with the header that shows them the answer, and do not write."""
    headers = {"Origin": SHOP, "Sec-Fetch-Site": "cross-site"}
    read = shared.call("GET", "/subjects", headers=headers)
    assert (read.status, read.headers["access-control-allow-origin"]) == (200, SHOP)
    versions = f"/subjects/{subject}/versions"
    assert shared.call("POST", versions, SCHEMA, headers=headers).status == 403
    asked = {**headers, "Access-Control-Request-Method": "GET"}
    told = shared.call("OPTIONS", "/subjects", headers=asked)
    assert (told.status, told.headers["access-control-allow-methods"]) == (200, "GET")
    own = {"Origin": registry.url, "Sec-Fetch-Site": "same-origin"}
    assert registry.call("POST", versions, SCHEMA, headers=own).status == 200


def test_415_for_bodies_that_a_form_can_send(registry: RunningRegistry, subject: str) -> None:
    """A body needs a media type, whatever the method; a request without a body does not."""
    versions = f"/subjects/{subject}/versions"
    body = b'{"schema":"\\"string\\""}'
    for stated in ("", "text/plain", "multipart/form-data; boundary=x"):
        headers = {"Content-Type": stated}
        for method, path in (("POST", versions), ("PUT", "/config"), ("DELETE", versions)):
            answer = registry.call(method, path, body, headers=headers)
            assert (answer.status, answer.code) == (415, 415), (method, stated)
    assert registry.call("POST", versions).status == 415
    assert registry.call("GET", versions).status == 404
    assert registry.call("POST", versions, body).status == 200
    assert registry.call("DELETE", f"/subjects/{subject}").status == 200
