"""`headrace cluster` against a live broker, and errors of the way to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.cli.reach import find_fault
from headrace.cli.target import Address
from headrace.testing import Broker
from headrace.wire.header import encode_response
from headrace.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from tests.cli.conftest import Headrace
from tests.client.listeners import (
    Serve,
    answering,
    http_server,
    listening,
    self_signed,
    silent,
    tls,
    unused_port,
    zookeeper,
)


def test_describe_shows_brokers_and_their_addresses(
    live: Headrace, headrace_broker: Broker
) -> None:
    """Id, controller and advertised addresses."""
    outcome = live("cluster", "describe", "-o", "json")
    found = json.loads(outcome.out)
    assert found["cluster_id"]
    assert found["controller"] == found["brokers"][0]["broker"]
    assert found["brokers"][0]["port"] == headrace_broker.port
    assert live("cluster", "describe").out.startswith(f"cluster {found['cluster_id']}: controller")


def test_api_versions_are_told_by_name(live: Headrace) -> None:
    """What the broker serves, as it says itself."""
    rows = json.loads(live("cluster", "api-versions", "-o", "json").out)
    by_name = {row["api"]: row for row in rows}
    assert by_name["ApiVersions"]["key"] == 18
    assert by_name["Fetch"]["max_version"] >= by_name["Fetch"]["min_version"]


def test_the_first_server_that_answers_is_enough(
    headrace: Headrace, headrace_broker: Broker
) -> None:
    """One of several bootstrap servers may be down."""
    servers = f"127.0.0.1:{unused_port()},{headrace_broker.bootstrap_servers}"
    assert headrace("topic", "list", "-b", servers).code == 0


def test_all_reasons_are_told_when_none_answers(headrace: Headrace) -> None:
    """Each address with its own reason."""
    one, two = unused_port(), unused_port()
    outcome = headrace("topic", "list", "-b", f"127.0.0.1:{one},127.0.0.1:{two}")
    assert outcome.code == 1
    assert f"127.0.0.1:{one} refused" in outcome.err
    assert f"127.0.0.1:{two} refused" in outcome.err


CONTROLLER = b"".join(
    encode_response(
        1,
        0,
        ApiVersionsResponse(
            error_code=0, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
        ),
    )
)


@pytest.mark.parametrize(
    ("serve", "complaint"),
    [
        (zookeeper, "is ZooKeeper, not a Kafka broker"),
        (answering(CONTROLLER), "is a KRaft controller, not a Kafka broker"),
    ],
)
def test_a_stranger_is_named(headrace: Headrace, serve: Serve, complaint: str) -> None:
    """ZooKeeper's port or a controller's port given as the broker's."""
    with listening(serve) as port:
        outcome = headrace("topic", "list", "-b", f"127.0.0.1:{port}")
    assert outcome.code == 1
    assert complaint in outcome.err


def fault_at(port: int, timeout_s: float = 2.0) -> str:
    return str(find_fault(Address("127.0.0.1", port), tls=False, timeout_s=timeout_s))


def test_an_http_server_is_named() -> None:
    """The registry's port given as the broker's."""
    with http_server() as port:
        assert "is an HTTP server, not a Kafka broker" in fault_at(port)


def test_a_silent_port_is_told() -> None:
    """Something listens, and nothing can be said about it."""
    with listening(silent) as port:
        assert "does not answer as a Kafka broker" in fault_at(port, 0.3)


def test_plaintext_on_a_tls_port_is_named(headrace: Headrace, tmp_path: Path) -> None:
    """With the setting that is missing."""
    with listening(tls(self_signed(tmp_path), answering(CONTROLLER))) as port:
        outcome = headrace("topic", "list", "-b", f"127.0.0.1:{port}")
    assert outcome.code == 1
    assert "speaks TLS, but the client speaks plaintext" in outcome.err
    assert "security.protocol=SSL" in outcome.err


def test_tls_on_a_plaintext_port_is_named(live: Headrace) -> None:
    """With the setting that is too much."""
    outcome = live("topic", "list", "-X", "security.protocol=SSL")
    assert outcome.code == 1
    assert "speaks plaintext, but security.protocol asks for TLS" in outcome.err


def test_a_wrong_setting_of_the_client_is_named(live: Headrace) -> None:
    """-X goes to librdkafka, whose complaint is passed on."""
    outcome = live("topic", "list", "-X", "no.such.setting=1")
    assert outcome.code == 1
    assert "no.such.setting" in outcome.err


def test_a_wrong_advertised_address_is_named_at_once(headrace: Headrace, tmp_path: Path) -> None:
    """The commonest fault of test brokers (testcontainers-python#675): no time-out, a reason."""
    wrong = unused_port()
    advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{wrong}"}
    with Broker(advertised, data=tmp_path) as broker:
        for words in (["topic", "create", "a"], ["consume", "-t", "a"], ["produce", "-t", "a"]):
            outcome = headrace(*words, "-b", broker.bootstrap_servers)
            assert outcome.code == 1
            assert f"sends clients to 127.0.0.1:{wrong}" in outcome.err
            assert "correct advertised.listeners" in outcome.err
        doctor = headrace("doctor", "-b", broker.bootstrap_servers)
    assert doctor.code == 1
    assert "FAIL  broker" in doctor.out
    assert f"127.0.0.1:{wrong} refused the connection" in doctor.out
