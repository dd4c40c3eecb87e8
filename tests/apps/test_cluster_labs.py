"""The labs of a cluster run to their end, and show what they promise."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from examples.cluster import decommission, failover, more_replicas, replace_broker, three_brokers
from headrace.testing import Cluster

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer


@pytest.fixture(scope="module")
def shared(
    zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    with Cluster(
        brokers=3,
        properties={"auto.leader.rebalance.enable": "false"},
        data=tmp_path_factory.mktemp("brokers"),
        zookeeper=f"{zookeeper.connect_string}/labs-{uuid.uuid4().hex[:8]}",
        session_timeout_ms=1000,
    ) as cluster:
        yield cluster


@pytest.fixture
def cluster(shared: Cluster) -> Iterator[Cluster]:
    """Three brokers that live, whatever the story before has done."""
    yield shared
    for broker in shared.brokers:
        if not broker.running:
            broker.start()


@pytest.mark.slow
@pytest.mark.spec("slides:O02", "slides:O03", "slides:B36", "slides:B39", "admin:LB-13")
def test_three_brokers_of_three_files(capsys: pytest.CaptureFixture[str]) -> None:
    """13 partitions with three replicas each; a group shares messages, others get them all."""
    three_brokers.main()
    out = capsys.readouterr().out
    assert "[0, 1, 2]" in out
    assert out.count("Leader: ") == 13
    assert len(re.findall(r"Replicas: \d,\d,\d\tIsr: \d,\d,\d\t", out)) == 13
    shared, alone = out.split("# Three consumers without a common group")
    read = re.findall(r"consumer \d: (.*)", shared)
    assert sorted(" ".join(read).split()) == [f"m{number}" for number in range(1, 8)]
    assert re.findall(r"consumer \d: (.*)", alone) == ["m1 m2 m3 m4 m5 m6 m7"] * 3
    assert re.findall(r"kafka-\d: (\d+) folders", out) == ["13", "13", "13"]


@pytest.mark.slow
@pytest.mark.spec("slides:O04", "slides:O05", "slides:B30", "slides:B31", "admin:LB-17")
def test_a_killed_broker_is_survived(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """New leaders are the next in sync; readers go on; the dead one comes back to its place."""
    failover.story(cluster)
    out = capsys.readouterr().out
    before, after = out.split("# Broker 0 is killed", 1)
    led = rows(before)
    moved = rows(after.split("# The readers go on", 1)[0])
    assert len(led) == len(moved) == 13
    for number, (leader, replicas, _) in led.items():
        survivors = [each for each in replicas if each != 0]
        now_leads, now_replicas, isr = moved[number]
        assert now_replicas == replicas
        if isr == survivors:
            assert now_leads == (leader if leader != 0 else survivors[0])
        else:  # a survivor was too slow for a while; it stands last when it has caught up
            assert now_leads in isr
            assert set(isr) <= set(survivors)
    assert "[1, 2]" in after
    assert "27 messages read, " in after
    assert "no partition is under-replicated" in after


def rows(text: str) -> dict[int, tuple[int, list[int], list[int]]]:
    """Leader, replicas and ISR by partition, from what kafka-topics prints."""
    found = re.findall(r"Partition: (\d+)\tLeader: (\d+)\tReplicas: (\S+)\tIsr: (\S+)\t", text)
    return {
        int(number): (int(leader), ids(replicas), ids(isr))
        for number, leader, replicas, isr in found
    }


def ids(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


@pytest.mark.spec("admin:LB-06", "admin:RC-40", "admin:LB-07")
def test_the_replication_factor_is_raised(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """From one to three, under a throttle that is gone afterwards; then a loss costs nothing."""
    more_replicas.story(cluster)
    out = capsys.readouterr().out
    assert "PartitionCount: 3\tReplicationFactor: 1\t" in out
    assert "PartitionCount: 3\tReplicationFactor: 3\t" in out
    assert out.count("is completed.") == 3
    assert "all 300 records are there" in out


@pytest.mark.spec("book2:K-01", "book2:K-02", "book2:K-03", "book2:K-04", "book2:K-05")
@pytest.mark.spec("book2:K-06", "admin:RC-37", "book2:A11-01")
def test_a_broker_is_taken_out_of_service(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five steps; afterwards it holds nothing, and its id is gone from ZooKeeper."""
    decommission.story(cluster)
    out = capsys.readouterr().out
    assert '"endpoints":["PLAINTEXT://127.0.0.1:' in out
    assert "all 201 records are there" in out
    assert out.rstrip().endswith("[0, 1, 2]")
    last = out.split("# 5. Verify")[1]
    assert all(3 not in replicas for _, replicas, _ in rows(last).values())


@pytest.mark.spec("admin:RC-39")
def test_a_lost_machine_is_replaced_under_its_id(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty disk is filled from the leaders, and then serves everything alone."""
    replace_broker.story(cluster)
    out = capsys.readouterr().out
    assert "it has fetched ledger-0, ledger-1, ledger-2" in out
    assert "broker 1 alone serves all 500 records" in out
