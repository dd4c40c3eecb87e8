"""The topics of a cluster's state: how they are made, which are rejected, how they are written."""

from __future__ import annotations

import pytest

from headrace.admin.client import Admin
from headrace.admin.settings import topic_settings
from headrace.client.faults import Fenced
from headrace.client.settings import client_settings
from headrace.pipelines.connect.config.worker import distributed
from headrace.pipelines.connect.faults import ConfigException, ConnectException
from headrace.pipelines.connect.worker.config_topic import ConfigTopic
from headrace.pipelines.connect.worker.state_topics import ensure_topics
from headrace.pipelines.connect.worker.topic_writer import TopicWriter, partition_of
from headrace.runtime.clock import SystemClock
from tests.pipelines.connect.worker.clustering import until, worker_settings

pytestmark = pytest.mark.timeout(180)


def made(bootstrap: str, group: str, **settings: str) -> str:
    config = distributed(worker_settings(bootstrap, group, **settings))
    client, _ = client_settings({"bootstrap.servers": bootstrap})
    return ensure_topics(client, config)


def test_missing_topics_are_made(bootstrap: str, topic: str) -> None:
    """With Connect's numbers of partitions, and compacted."""
    assert made(bootstrap, topic, **{"offset.storage.partitions": "25"})
    names = [f"{topic}-{kind}" for kind in ("config", "offset", "status")]
    with admin_of(bootstrap) as admin:
        assert [len(admin.topic(name).partitions) for name in names] == [1, 25, 2]
        for settings in topic_settings(admin, names).values():
            policies = [each.value for each in settings if each.name == "cleanup.policy"]
            assert policies == ["compact"]
    assert made(bootstrap, topic), "they may be there already"


def admin_of(bootstrap: str) -> Admin:
    client, _ = client_settings({"bootstrap.servers": bootstrap})
    return Admin(client)


def test_a_topic_that_cannot_be_is_rejected(bootstrap: str, topic: str) -> None:
    """In Connect's words."""
    with admin_of(bootstrap) as admin:
        admin.create(f"{topic}-config", 2, 1, {}, {"cleanup.policy": "compact"})
        admin.create(f"{topic}-b-offset", 1, 1, {}, {"cleanup.policy": "delete"})
    with pytest.raises(ConfigException, match=r"single partition .* but found 2 partitions"):
        made(bootstrap, topic)
    with pytest.raises(ConfigException, match=r"currently has 'cleanup.policy=delete'"):
        made(bootstrap, f"{topic}-b")
    with pytest.raises(ConnectException, match="5 replicas"):
        made(bootstrap, f"{topic}-c", **{"config.storage.replication.factor": "5"})


def test_the_leader_before_is_fenced(bootstrap: str, topic: str) -> None:
    """With exactly-once support only the newest leader writes, and what it writes counts."""
    settings = distributed(
        worker_settings(bootstrap, topic, **{"exactly.once.source.support": "enabled"})
    )
    client, _ = client_settings({"bootstrap.servers": bootstrap})
    ensure_topics(client, settings)
    heard: list[object] = []
    before, after = (ConfigTopic(client, settings, SystemClock(), heard.extend) for _ in range(2))
    before.open()
    after.open()
    try:
        before.claim()
        assert before.lead([(b"connector-a", b'{"properties":{"a":"1"}}')]).connectors.keys() == {
            "a"
        }
        after.claim()
        assert after.lead([(b"connector-b", b'{"properties":{}}')]).connectors.keys() == {"a", "b"}
        with pytest.raises(Fenced):
            before.lead([(b"connector-c", b'{"properties":{}}')])
        before.write([(b"target-state-a", b'{"state":"PAUSED"}')])
        until("both have heard of it", lambda: len(heard) >= 6)
        assert after.read_to_end().connectors.keys() == {"a", "b"}
    finally:
        before.close()
        after.close()


def test_keys_go_where_every_producer_puts_them(bootstrap: str, topic: str) -> None:
    """The hashes are those that Kafka's own tests of murmur2 have."""
    known = {
        b"21": -973932308,
        b"foobar": -790332482,
        b"a-little-bit-long-string": -985981536,
        b"a-little-bit-longer-string": -1486304829,
        b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
        b"abc": 479470107,
    }
    for key, number in known.items():
        assert partition_of(key, 1000) == (number & 0x7FFFFFFF) % 1000
    client, _ = client_settings({"bootstrap.servers": bootstrap})
    made(bootstrap, topic)
    writer = TopicWriter(client, f"{topic}-status", SystemClock())
    writer.write([(b"k%d" % number, b"v" * 300_000) for number in range(6)])
    writer.close()
