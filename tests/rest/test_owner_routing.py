"""Any instance of the proxy answers for a consumer that another one has."""

from __future__ import annotations

import base64
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.rest.service import Service, embedded, error_of
from tests.rest.v2.test_consumers import create, partitions, read, send

JSON = embedded("json")
NOT_FOUND = (404, 40403, "Consumer instance not found.")


@pytest.fixture(scope="module")
def pair(start_proxy: Callable[..., Service]) -> Iterator[tuple[Service, Service]]:
    """Two proxies that know each other through a group."""
    properties = {"peer.discovery": "group", "peer.group.id": "rest-pair"}
    with start_proxy(properties) as first, start_proxy(properties) as second:
        probe = create(first, "pair-probe")
        deadline = time.monotonic() + 30
        while second.get(f"{probe}/subscription").status != 200:
            assert time.monotonic() < deadline, second.output
            time.sleep(0.05)
        first.delete(probe)
        yield first, second


def test_every_request_reaches_the_owner(
    pair: tuple[Service, Service], topic: str, fresh_name: str
) -> None:
    """A whole life of an instance, each step at the other proxy."""
    owner, other = pair
    send(owner, topic, 0, 1, 2)
    base = create(owner, fresh_name)
    assert other.post(f"{base}/subscription", {"topics": [topic]}).status == 204
    assert other.get(f"{base}/subscription").json == {"topics": [topic]}
    records = read(other, base, 3, "?timeout=500&headers=true")
    assert [record["value"] for record in records] == [0, 1, 2]
    assert "headers" in records[0]
    assert other.get(f"{base}/assignments").json == partitions(topic, 0)
    assert other.post(f"{base}/offsets").status == 200
    committed = other.request("GET", f"{base}/offsets", partitions(topic, 0)).json
    assert [each["offset"] for each in committed["offsets"]] == [3]
    place = {"offsets": [{"topic": topic, "partition": 0, "offset": 1}]}
    assert other.post(f"{base}/positions", place).status == 204
    assert read(owner, base, 2)[0]["offset"] == 1
    assert other.delete(base).status == 204
    assert error_of(owner.get(f"{base}/subscription")) == NOT_FOUND


def test_errors_come_back_as_they_are(pair: tuple[Service, Service], fresh_name: str) -> None:
    """Status, code, text and type of the owner's answer."""
    owner, other = pair
    base = create(owner, fresh_name)
    answers = [proxy.get(f"{base}/records", accept=JSON) for proxy in pair]
    assert len({(it.status, it.headers["content-type"], it.text) for it in answers}) == 1
    assert error_of(answers[0])[:2] == (409, 40903)
    reply = other.get(f"{base}/records", accept=embedded("avro"))
    assert error_of(reply)[:2] == (406, 40601)
    reply = other.post(f"{base}/subscription", {"nonsense": 1})
    assert error_of(reply) == (422, 422, "Unrecognized field: nonsense")
    owner.delete(base)


def test_40403_where_nobody_has_it(pair: tuple[Service, Service], fresh_name: str) -> None:
    """Asking everybody ends, and is not passed on in a circle."""
    for proxy in pair:
        reply = proxy.get(f"/consumers/{fresh_name}/instances/nobody/subscription")
        assert error_of(reply) == NOT_FOUND


def test_a_request_that_says_it_was_passed_on_stays_here(
    pair: tuple[Service, Service], fresh_name: str
) -> None:
    """The mark can only make a proxy say that it does not have an instance."""
    owner, other = pair
    base = create(owner, fresh_name)
    reply = other.get(f"{base}/subscription", headers={"X-Forward": "true"})
    assert error_of(reply) == NOT_FOUND
    owner.delete(base)


def test_40902_for_a_name_that_another_proxy_has(
    pair: tuple[Service, Service], fresh_name: str
) -> None:
    """A name is taken wherever its instance is."""
    owner, other = pair
    base = create(owner, fresh_name)
    reply = other.post(f"/consumers/{fresh_name}", {"name": "one"})
    assert error_of(reply)[:2] == (409, 40902)
    owner.delete(base)


def test_peers_may_be_named_in_the_settings(
    start_proxy: Callable[..., Service], proxy: Service, topic: str, fresh_name: str
) -> None:
    """A list of addresses; one that does not answer is passed over."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with start_proxy({"peers": f"{silent},{proxy.url}"}) as other:
            base = create(proxy, fresh_name)
            assert other.post(f"{base}/subscription", {"topics": [topic]}).status == 204
            assert proxy.get(f"{base}/subscription").json == {"topics": [topic]}
            proxy.delete(base)


@contextmanager
def answering(statuses: list[int]) -> Iterator[str]:
    """The address of something in front of an instance, which answers the first of these for it."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *parts: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def assert_is_passed_over(other: Service, peer: str, status: int, group: str) -> None:
    """A new instance may have any name, one that nobody has is 40403, and the log says why."""
    base = create(other, group)
    assert other.delete(base).status == 204
    assert error_of(other.get(f"{base}/subscription")) == NOT_FOUND
    other.await_output(f"the instance {peer} answered {status}")


def test_an_answer_that_is_not_the_owners_proves_nothing(
    start_proxy: Callable[..., Service], fresh_name: str
) -> None:
    """It comes from what stands in front of the instances: whether one exists is not known."""
    statuses = [401, 403, 421, 429, 500, 502, 503]
    with answering(statuses) as peer, start_proxy({"peers": peer}) as other:
        while statuses:
            assert_is_passed_over(other, peer, statuses[0], fresh_name)
            statuses.pop(0)


def test_instances_that_reject_who_passes_on(
    start_proxy: Callable[..., Service], proxy: Service, tmp_path: Path, fresh_name: str
) -> None:
    """421 of one that is called by a name that it does not know, and 401 of one with users."""
    users = tmp_path / "users"
    users.write_text("ann: plain:a, admin\n")
    secured = {"authentication.method": "BASIC", "authentication.users.file": users}
    misnamed = proxy.url.replace("127.0.0.1", "127.1")
    with start_proxy(secured) as stranger:
        for peer, status in ((misnamed, 421), (stranger.url, 401)):
            with start_proxy({"peers": peer}) as other:
                assert_is_passed_over(other, peer, status, fresh_name)


def test_the_owners_own_troubles_come_back_as_they_are(
    start_proxy: Callable[..., Service], proxy: Service, topic: str, fresh_name: str
) -> None:
    """503 of the instance that has the consumer is its answer, also where it is the first one."""
    framed = base64.b64encode(b"\0\0\0\0\1x").decode()
    records = {"records": [{"value": framed}]}
    assert proxy.post(f"/topics/{topic}", records, content_type=embedded("binary")).status == 200
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with (
            start_proxy({"schema.registry.url": silent}) as owner,
            start_proxy({"peers": owner.url}) as other,
        ):
            base = create(owner, fresh_name, format="avro")
            assert owner.post(f"{base}/assignments", partitions(topic, 0)).status == 204
            reply = other.get(f"{base}/records?timeout=30000", accept=embedded("avro"))
            assert error_of(reply)[:2] == (503, 50302)
            assert owner.delete(base).status == 204


def test_a_limit_of_the_owner_is_no_reason_to_forget_it(
    start_proxy: Callable[..., Service], fresh_name: str
) -> None:
    """Who had the consumer last time still has it when it has no time: 429 and not 40403."""
    limits = {"rate.limit.enable": "true", "rate.limit.permits.per.sec": 1, "rate.limit.burst": 3}
    with start_proxy(limits) as owner, start_proxy({"peers": owner.url}) as other:
        base = create(owner, fresh_name)
        statuses = [other.get(f"{base}/subscription").status for _ in range(20)]
        assert statuses[0] == 200
        assert set(statuses) == {200, 429}
