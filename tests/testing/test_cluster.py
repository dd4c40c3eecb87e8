"""`headrace.testing.Cluster`: real brokers that can be killed, paused and started again."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.admin.client import Admin
from headrace.client.settings import client_settings
from headrace.testing import Broker, BrokerFailed, Cluster
from headrace.testing import cluster as module
from tests.client.listeners import unused_port

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer


def admin(cluster: Cluster) -> Admin:
    return Admin(client_settings({"bootstrap.servers": cluster.bootstrap_servers})[0])


def test_a_cluster_has_its_own_zookeeper_and_leaves_nothing(tmp_path: Path) -> None:
    """Racks and settings reach the brokers; processes and folders are gone at the end."""
    with Cluster([1, 2], {"num.partitions": 7}, racks=["east", "west"]) as cluster:
        with admin(cluster) as asked:
            found = asked.describe_cluster()
        assert [(each.id, each.rack) for each in found.brokers] == [(1, "east"), (2, "west")]
        assert [each.port for each in found.brokers] == [each.port for each in cluster.brokers]
        assert cluster.broker(2).log_dir == cluster.data_dir / "broker-2"
        folder, server = cluster.data_dir, cluster.zookeeper_server
        pids = [broker.pid for broker in cluster.brokers]
        assert server is not None
        pids.append(server.pid)
        with pytest.raises(BrokerFailed, match=r"there is no broker 7; add_broker\(7\) makes one"):
            cluster.broker(7)
    assert not folder.exists()
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_brokers_come_and_go_and_keep_their_places(
    zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    """Killed, paused, stopped, added: same port, same data. A given ZooKeeper is left alone."""
    chroot = f"{zookeeper.connect_string}/testing-{uuid.uuid4().hex[:8]}"
    with Cluster(1, data=tmp_path, zookeeper=chroot, session_timeout_ms=1000) as cluster:
        broker = cluster.brokers[0]
        port, pid = broker.port, broker.pid
        broker.kill()
        assert not broker.running
        broker.start()
        assert (broker.port, broker.pid == pid) == (port, False)
        broker.pause()
        assert "T" in Path(f"/proc/{broker.pid}/stat").read_text().rpartition(")")[2].split()[0]
        broker.resume()
        added = cluster.add_broker(properties={"broker.rack": "attic"})
        assert added.id == 1
        with admin(cluster) as asked:
            assert [each.rack for each in asked.describe_cluster().brokers] == [None, "attic"]
        with pytest.raises(BrokerFailed, match="there is a broker 1 already"):
            cluster.add_broker(1)
        added.stop()
        broker.pause()  # A paused one is stopped all the same.
    assert sorted(os.listdir(tmp_path)) == ["broker-0", "broker-1"]
    assert zookeeper.running


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started."""
    with pytest.raises(BrokerFailed, match="no ZooKeeper before it is started"):
        _ = Cluster(3).zookeeper
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(BrokerFailed, match=r"pip install headrace\[cluster\]"):
        Cluster(3).start()


def test_of_several_listeners_the_first_is_where_it_is() -> None:
    """Whatever is said later: clients, and who waits for the cluster, come in by one door."""
    first, second = unused_port(), unused_port()
    settings = {
        "listeners": f"ONE://127.0.0.1:{first},TWO://127.0.0.2:{second}",
        "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
        "inter.broker.listener.name": "TWO",
    }
    with Broker(settings) as broker:
        broker.await_output(f"127.0.0.2:{second}")
    assert broker.bootstrap_servers == f"127.0.0.1:{first}"
