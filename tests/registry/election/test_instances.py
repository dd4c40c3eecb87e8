"""Several instances: followers forward writes and serve reads, and take over when they must."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from headrace.testing import Broker
from tests.registry.election.kills import LONGEST_TAKE_OVER_S, run
from tests.registry.running import RunningRegistry, until

SCHEMA = {"schema": '{"type":"string"}'}


@pytest.fixture(scope="module")
def pair(registry: RunningRegistry) -> Iterator[tuple[RunningRegistry, RunningRegistry]]:
    """The primary that all tests share, and a follower of it."""
    bootstrap = registry.properties["kafkastore.bootstrap.servers"]
    with RunningRegistry(bootstrap, leader__eligibility="false") as follower:
        # Answered by the primary, so the follower knows it from here on.
        assert follower.call("DELETE", "/subjects/none").code == 40401
        yield registry, follower


@pytest.mark.spec("admin:SR-06")
def test_a_follower_forwards_writes_and_serves_reads(
    pair: tuple[RunningRegistry, RunningRegistry], subject: str
) -> None:
    """Whatever is written through it is the primary's doing, and its answers are the primary's."""
    primary, follower = pair
    assert follower.call("GET", "/healthz").body["primary"] is False
    path = f"/subjects/{subject}%2F1/versions"
    answer = follower.call("POST", path, SCHEMA)
    assert answer.status == 200
    assert primary.call("GET", path).body == [1]
    until(lambda: follower.call("GET", path).body == [1], 5)
    assert follower.call("POST", path, {"schema": '"int"'}).code == 409
    odd = follower.call("POST", f"{path}?x=%22<>|^`&normalize=true", {"schema": '"int"'})
    assert odd.code == 409
    assert follower.call("POST", path, {"schema": "x"}).code == 42201
    assert follower.call("PUT", f"/config/{subject}", {"compatibility": "x"}).code == 42203
    assert follower.call("PUT", f"/config/{subject}", {"compatibility": "NONE"}).status == 200
    accept = {"Accept": "application/json"}
    answer = follower.call("DELETE", f"/subjects/{subject}%2F1", headers=accept)
    assert (answer.body, answer.headers["content-type"]) == ([1], "application/json")
    kek = {"name": subject.replace("-", "_"), "kmsType": "t", "kmsKeyId": "k"}
    assert follower.call("POST", "/dek-registry/v1/keks", kek).status == 200


def test_a_registered_schema_needs_no_primary(
    pair: tuple[RunningRegistry, RunningRegistry], subject: str
) -> None:
    """A follower answers the registration of what it knows already by itself."""
    primary, follower = pair
    path = f"/subjects/{subject}/versions"
    schema_id = primary.call("POST", path, SCHEMA).body["id"]
    until(lambda: follower.call("GET", path).body == [1], 5)
    # A request that says that it was forwarded is never forwarded again.
    answer = follower.call("POST", path, SCHEMA, headers={"X-Forward": "true"})
    assert (answer.status, answer.body["id"]) == (200, schema_id)


def test_one_hop_only(pair: tuple[RunningRegistry, RunningRegistry], subject: str) -> None:
    """50003 for a forwarded request at an instance that is no primary; nothing is done."""
    _, follower = pair
    path = f"/subjects/{subject}/versions"
    answer = follower.call("POST", path, SCHEMA, headers={"X-Forward": "true"})
    assert (answer.status, answer.code) == (500, 50003)
    assert follower.call("GET", path).code == 40401


def test_without_a_primary_writes_are_50004(registry_broker: Broker, names: dict[str, str]) -> None:
    """After a bounded wait; reads are served all the same."""
    more = {"leader__eligibility": "false", "leader__connect__timeout__ms": "300"}
    with RunningRegistry(registry_broker.bootstrap_servers, **names, **more) as alone:
        answer = alone.call("POST", "/subjects/a/versions", SCHEMA)
        assert (answer.status, answer.code) == (500, 50004)
        assert alone.call("DELETE", "/subjects/a").code == 50004
        assert alone.call("GET", "/subjects").body == []


def test_a_clean_stop_hands_over_at_once(registry_broker: Broker, names: dict[str, str]) -> None:
    """The group is left, so nobody waits for a session; writes at the other one go on."""
    bootstrap = registry_broker.bootstrap_servers
    with RunningRegistry(bootstrap, **names) as first:
        first.await_primary()
        with RunningRegistry(bootstrap, **names) as second:
            until(lambda: first.call("GET", "/healthz").body["primary"], 5)
            assert second.call("GET", "/healthz").body["primary"] is False, "the incumbent stays"
            first.stop()
            second.await_primary(timeout_s=4)
            assert second.call("POST", "/subjects/a/versions", SCHEMA).body["id"] == 1


def test_a_primary_that_was_asleep(registry_broker: Broker, names: dict[str, str]) -> None:
    """SIGSTOP, longer than its session: when it wakes up it does not write beside the new one."""
    bootstrap = registry_broker.bootstrap_servers
    with RunningRegistry(bootstrap, **names) as old, RunningRegistry(bootstrap, **names) as new:
        until(lambda: primary_of(old, new) is not None)
        sleeper = primary_of(old, new)
        assert sleeper is not None
        other = new if sleeper is old else old
        assert sleeper.call("POST", "/subjects/a/versions", SCHEMA).body["id"] == 1
        os.kill(sleeper.pid, signal.SIGSTOP)
        try:
            other.await_primary()
            answer = other.call("POST", "/subjects/b/versions", {"schema": '"int"'})
            assert answer.body["id"] == 2
        finally:
            os.kill(sleeper.pid, signal.SIGCONT)
        answer = sleeper.call("POST", "/subjects/c/versions", {"schema": '"long"'})
        assert (answer.status, answer.body["id"]) == (200, 3)
        # Which of them it is now depends on how busy the machine was.
        until(lambda: sum(is_primary(each) for each in (old, new)) == 1)
        until(lambda: other.call("GET", "/schemas/ids/3").body.get("schema") == '"long"')


def primary_of(*instances: RunningRegistry) -> RunningRegistry | None:
    return next((each for each in instances if is_primary(each)), None)


def is_primary(instance: RunningRegistry) -> bool:
    is_so: bool = instance.call("GET", "/healthz").body["primary"]
    return is_so


def test_kill_of_the_primary_amid_registrations(registry_broker: Broker) -> None:
    """kill -9: ids stay unique, nothing acknowledged is lost, a follower takes over in time."""
    (outage,) = run(registry_broker.bootstrap_servers, kills=1)
    assert outage < LONGEST_TAKE_OVER_S
