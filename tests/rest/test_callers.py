"""Web pages and names: what a browser can make the proxy do for a page of another site."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.rest.service import Service, embedded, error_of

JSON = embedded("json")
SHOP = "https://shop.example"
EVIL = "https://evil.example"
RECORDS = {"records": [{"value": 1}]}


@pytest.fixture(scope="module")
def open_proxy(start_proxy: Callable[..., Service]) -> Iterator[Service]:
    """A proxy that pages of a shop may read and write, and another site's pages may read."""
    properties = {
        "access.control.allow.origin": f"{SHOP},https://*.partner.example",
        "access.control.allow.methods": "GET,POST",
        "access.control.allow.headers": "Content-Type",
        "access.control.allow.host": "rest.example,*.internal.example",
    }
    with start_proxy(properties) as service:
        yield service


def end_offset(proxy: Service, topic: str) -> int:
    found: int = proxy.get(f"/topics/{topic}/partitions/0/offsets").json["end_offset"]
    return found


def socket_path(proxy: Service, topic: str) -> str:
    cluster = proxy.get("/v3/clusters").json["data"][0]["cluster_id"]
    host, port = proxy.address
    return f"ws://{host}:{port}/v3/clusters/{cluster}/topics/{topic}/records:socket?from=earliest"


# -- the name that was called ----------------------------------------------------------------------


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8082", "10.0.0.1", "", "a b"])
def test_421_for_a_name_that_is_not_the_proxys(proxy: Service, topic: str, host: str) -> None:
    """DNS rebinding: the page has the address of the proxy, and still its own name."""
    for path in ("/", "/topics", "/openapi.json", "/v3/clusters"):
        assert error_of(proxy.get(path, headers={"Host": host}))[:2] == (421, 421)
    reply = proxy.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers={"Host": host})
    assert reply.status == 421
    assert "access.control.allow.host" in reply.json["message"]
    assert end_offset(proxy, topic) == 0


def test_the_proxys_own_names(proxy: Service, open_proxy: Service) -> None:
    """Its address, the names of this machine's loopback, and those that are set, with any port."""
    for host in ("localhost", "LocalHost:1", "127.0.0.1", "[::1]:8082"):
        assert proxy.get("/topics", headers={"Host": host}).status == 200
    for host in ("rest.example", "rest.example:443", "a.internal.example"):
        assert open_proxy.get("/topics", headers={"Host": host}).status == 200
        assert proxy.get("/topics", headers={"Host": host}).status == 421


# -- pages of other sites --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://shop.example.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": EVIL, "Sec-Fetch-Site": "none"},
    ],
    ids=lambda headers: " ".join(headers.values()),
)
def test_403_for_pages_of_other_sites(
    proxy: Service, open_proxy: Service, topic: str, headers: dict[str, str]
) -> None:
    """Reads and writes of every version, where nothing or another site is allowed."""
    for service in (proxy, open_proxy):
        for path in ("/topics", "/v3/clusters", "/openapi.json"):
            assert error_of(service.get(path, headers=headers))[:2] == (403, 403)
        sent = service.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers=headers)
        assert sent.status == 403
        assert service.post(f"/consumers/{topic}", headers=headers).status == 403
    assert end_offset(proxy, topic) == 0


def test_pages_of_the_proxy_itself_may_call(proxy: Service, topic: str) -> None:
    """The origin is the name that was called; an address that was typed has no origin."""
    own = {"Origin": proxy.url, "Sec-Fetch-Site": "same-origin"}
    reply = proxy.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers=own)
    assert reply.status == 200
    assert proxy.get("/topics", headers={"Sec-Fetch-Site": "none"}).status == 200
    behind = {"Host": "localhost", "Origin": "https://localhost"}
    assert proxy.get("/topics", headers=behind).status == 200


def test_pages_behind_a_reverse_proxy_that_changes_the_host(proxy: Service, topic: str) -> None:
    """The browser itself says that the page is of the same origin, and no page can say so."""
    page = {"Origin": "https://kafka.example", "Sec-Fetch-Site": "same-origin"}
    reply = proxy.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers=page)
    assert reply.status == 200
    rebound = {**page, "Host": "kafka.example"}
    reply = proxy.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers=rebound)
    assert reply.status == 421
    assert end_offset(proxy, topic) == 1


def test_allowed_pages_may_call(open_proxy: Service, topic: str) -> None:
    """With the headers by which the browser shows them the answer."""
    for origin in (SHOP, "https://eu.partner.example"):
        headers = {"Origin": origin, "Sec-Fetch-Site": "cross-site"}
        read = open_proxy.get("/topics", headers=headers)
        assert (read.status, read.headers["access-control-allow-origin"]) == (200, origin)
        sent = open_proxy.post(f"/topics/{topic}", RECORDS, content_type=JSON, headers=headers)
        assert sent.status == 200
        missing = open_proxy.get("/topics/nowhere", headers=headers)
        assert (missing.status, missing.headers["access-control-allow-origin"]) == (404, origin)


def test_a_preflight_tells_what_is_allowed(proxy: Service, open_proxy: Service) -> None:
    """Methods and headers that are set; a page that is not allowed hears 403."""
    asked = {
        "Origin": SHOP,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    told = open_proxy.request("OPTIONS", "/topics/t", headers=asked)
    assert told.status == 200
    assert told.headers["access-control-allow-origin"] == SHOP
    assert told.headers["access-control-allow-methods"] == "GET, POST"
    assert "content-type" in told.headers["access-control-allow-headers"].lower()
    delete = {**asked, "Access-Control-Request-Method": "DELETE"}
    assert open_proxy.request("OPTIONS", "/topics/t", headers=delete).status == 400
    assert proxy.request("OPTIONS", "/topics/t", headers=asked).status == 403


def test_a_method_that_is_not_allowed_is_403(open_proxy: Service, fresh_name: str) -> None:
    """Also for a page that does not ask first."""
    path = f"/consumers/{fresh_name}/instances/one"
    assert error_of(open_proxy.delete(path, headers={"Origin": SHOP}))[:2] == (403, 403)
    assert error_of(open_proxy.delete(path))[:2] == (404, 40403)


def test_all_pages_may_be_allowed(start_proxy: Callable[..., Service]) -> None:
    """`*`: for a proxy whose records anybody may read."""
    with start_proxy({"access.control.allow.origin": "*"}) as service:
        reply = service.get("/topics", headers={"Origin": EVIL})
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (200, "*")
        assert service.get("/topics", headers={"Host": "evil.example"}).status == 421


# -- WebSockets ------------------------------------------------------------------------------------


def test_websockets_of_other_sites_are_rejected(
    proxy: Service, open_proxy: Service, topic: str
) -> None:
    """No record leaves: the handshake is answered 403 (421 for a foreign name)."""
    proxy.post(f"/topics/{topic}", RECORDS, content_type=JSON)
    for service in (proxy, open_proxy):
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(socket_path(service, topic), origin=Origin(EVIL)),
        ):
            pass
        assert refused.value.response.status_code == 403
        assert b"access.control.allow.origin" in (refused.value.response.body or b"")
    handshake = {
        "Host": "evil.example",
        "Origin": "http://evil.example",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    path = "/" + socket_path(proxy, topic).split("/", 3)[3]
    assert proxy.get(path, headers=handshake).status == 421


def test_websockets_of_own_and_allowed_pages(
    proxy: Service, open_proxy: Service, topic: str
) -> None:
    """And of programs, which have no origin."""
    proxy.post(f"/topics/{topic}", RECORDS, content_type=JSON)
    pages = ((proxy, None), (proxy, Origin(proxy.url)), (open_proxy, Origin(SHOP)))
    for service, origin in pages:
        with connect(socket_path(service, topic), origin=origin, open_timeout=30) as opened:
            assert '"assignment"' in str(opened.recv(30))
            assert '"records"' in str(opened.recv(30))


# -- bodies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_415_for_bodies_that_a_form_can_send(
    proxy: Service, topic: str, stated: str | None
) -> None:
    """A page sends them without asking; none is taken for JSON."""
    cluster = proxy.get("/v3/clusters").json["data"][0]["cluster_id"]
    record = b'{"value":{"type":"JSON","data":1}}'
    for method, path, body in (
        ("POST", f"/topics/{topic}", b'{"records":[{"value":1}]}'),
        ("POST", f"/consumers/{topic}", b"{}"),
        ("POST", f"/v3/clusters/{cluster}/topics/{topic}/records", record),
        ("POST", f"/v3/clusters/{cluster}/topics", b'{"topic_name":"by-a-page"}'),
        ("DELETE", f"/v3/clusters/{cluster}/topics/{topic}", b"{}"),
    ):
        reply = proxy.request(method, path, body, content_type=stated)
        assert error_of(reply)[:2] == (415, 415), path
    assert end_offset(proxy, topic) == 0
    assert "by-a-page" not in proxy.get("/topics").json


def test_an_allowed_page_sees_why_its_body_is_rejected(open_proxy: Service, topic: str) -> None:
    """Without CORS headers a browser would show it nothing but a failure of the network."""
    shop = {"Origin": SHOP, "Sec-Fetch-Site": "cross-site"}
    for stated in ("text/plain", None):
        reply = open_proxy.post(f"/topics/{topic}", b"{}", content_type=stated, headers=shop)
        assert error_of(reply)[:2] == (415, 415)
        assert reply.headers["access-control-allow-origin"] == SHOP
    evil = open_proxy.post(
        f"/topics/{topic}", b"{}", content_type="text/plain", headers={"Origin": EVIL}
    )
    assert error_of(evil)[:2] == (403, 403)
    assert "access-control-allow-origin" not in evil.headers


def test_415_for_a_missing_body_without_a_type(proxy: Service) -> None:
    """Where a body is required its type is, too; where it is not, neither is."""
    cluster = proxy.get("/v3/clusters").json["data"][0]["cluster_id"]
    assert error_of(proxy.post(f"/v3/clusters/{cluster}/topics"))[:2] == (415, 415)
    created = proxy.post("/consumers/without-a-body")
    assert created.status == 200
    path = f"/consumers/without-a-body/instances/{created.json['instance_id']}"
    assert proxy.delete(path).status == 204
