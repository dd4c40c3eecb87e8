"""Any instance of the proxy answers for a consumer that another one has."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator

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
