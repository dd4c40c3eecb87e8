"""Topics, leaders and coordinators of a cluster, and what is said when there is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from uuid import UUID

import pytest

from headrace.client.cluster import Cluster, shared_cluster
from headrace.client.faults import NoBroker, TimedOut, UnknownTopic
from headrace.errors import Error
from headrace.testing import Broker
from headrace.types import ZERO_UUID
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.client.batches import create_topic, delete_topic
from tests.client.listeners import http_server, listening, silent, unused_port, zookeeper
from tests.client.scripted_broker import NODE, metadata, scripted_broker, topic_led

Opened = Callable[..., Cluster]


def test_topics_by_name_and_all(cluster: Cluster, new_topic: Callable[..., str]) -> None:
    """Metadata v12: names, ids and partitions; a name that nobody has is left out, not made."""
    name = new_topic(partitions=3)
    (found,) = cluster.topics([name, "no-such-topic"]).values()
    assert found.name == name
    assert found.topic_id != ZERO_UUID
    assert not found.is_internal
    assert sorted(found.partitions) == [0, 1, 2]
    everything = cluster.topics()
    assert everything[name] == found
    assert "no-such-topic" not in everything


def test_nothing_is_asked_for_no_names(cluster: Cluster) -> None:
    """An empty list means none, where null means all."""
    assert cluster.topics([]) == {}


def test_unknown_topics_and_partitions_are_named(cluster: Cluster, topic: str) -> None:
    """The text says what there is instead."""
    with pytest.raises(UnknownTopic, match="no-such-topic does not exist"):
        cluster.leader("no-such-topic", 0)
    with pytest.raises(UnknownTopic, match=f"{topic} has no partition 7: it has 1"):
        cluster.leader(topic, 7)


def test_a_connection_that_the_broker_has_closed_is_not_used(open_cluster: Opened) -> None:
    """Brokers close what was idle for long, or go and come back: the next question reconnects."""
    with Broker() as broker:
        cluster = open_cluster(broker.bootstrap_servers)
        before = cluster.any_broker()
        broker.stop()
        broker.start()
        response = cluster.any_broker().call(MetadataRequest(topics=[]))
        assert len(response.brokers) == 1
        assert not before.is_open


def test_a_recreated_topic_has_another_id(cluster: Cluster, topic: str) -> None:
    """KIP-516: the cache does not hold on to the first life of a name."""
    before = cluster.topics([topic])[topic].topic_id
    delete_topic(cluster, topic)
    cluster.forget(topic)
    create_topic(cluster, topic, 1, {})
    assert cluster.topics([topic])[topic].topic_id != before


def test_leaders_come_from_the_cache_until_they_are_forgotten(open_cluster: Opened) -> None:
    """One question per topic, and one more after `forget`."""
    with scripted_broker({}) as peer:
        peer.script[MetadataRequest] = metadata(lambda: peer, [topic_led("t")])
        cluster = open_cluster(peer.bootstrap)
        assert cluster.leader("t", 0) is cluster.leader("t", 0)
        assert len(peer.of(MetadataRequest)) == 1
        cluster.forget("t")
        cluster.leader("t", 0)
        assert len(peer.of(MetadataRequest)) == 2
        assert not peer.seen[0].allow_auto_topic_creation


def test_a_leader_that_is_not_there_yet_is_waited_for(open_cluster: Opened) -> None:
    """LEADER_NOT_AVAILABLE passes: an election takes a moment."""
    with scripted_broker({}) as peer:
        leaderless = metadata(lambda: peer, [topic_led("t", leader=-1)])
        elected = metadata(lambda: peer, [topic_led("t")])
        peer.script[MetadataRequest] = [leaderless, leaderless, elected]
        assert open_cluster(peer.bootstrap).route("t", 0).leader == NODE


def test_a_leader_that_never_comes_is_told(open_cluster: Opened) -> None:
    """After `default.api.timeout.ms`, with the partition and the last reason."""
    with scripted_broker({}) as peer:
        peer.script[MetadataRequest] = metadata(lambda: peer, [topic_led("t", leader=-1)])
        cluster = open_cluster(peer.bootstrap, default_api_timeout_ms="200")
        with pytest.raises(TimedOut, match=r"leader of t-0 .* 0.2 s .*LEADER_NOT_AVAILABLE"):
            cluster.leader("t", 0)


def test_a_leader_of_the_past_does_not_come_back(open_cluster: Opened) -> None:
    """KIP-320: metadata with an older epoch comes from a broker that lags behind."""
    with scripted_broker({}) as peer:
        now = topic_led("t", epoch=5, topic_id=UUID(int=1))
        past = topic_led("t", leader=99, epoch=4, topic_id=UUID(int=1))
        another = topic_led("t", epoch=0, topic_id=UUID(int=2))
        peer.script[MetadataRequest] = [
            metadata(lambda: peer, [topic]) for topic in (now, past, another)
        ]
        cluster = open_cluster(peer.bootstrap)
        assert cluster.route("t", 0).leader_epoch == 5
        cluster.forget("t")
        assert cluster.route("t", 0)[1:3] == (NODE, 5)
        cluster.forget("t")
        assert cluster.route("t", 0).leader_epoch == 0


def test_an_advertised_address_that_is_closed_is_told(open_cluster: Opened) -> None:
    """The commonest mistake with containers: bootstrap works, and nothing after it."""
    closed = unused_port()

    class Elsewhere:
        port = closed

    with scripted_broker({}) as peer:
        elsewhere: object = Elsewhere()
        peer.script[MetadataRequest] = metadata(lambda: elsewhere, [topic_led("t")])  # type: ignore[arg-type,return-value]
        cluster = open_cluster(peer.bootstrap, default_api_timeout_ms="200")
        with pytest.raises(TimedOut, match=rf"{closed} refused.*correct advertised.listeners"):
            cluster.leader("t", 0)


def test_bootstrapping_again(open_cluster: Opened) -> None:
    """KIP-1102: the brokers known so far are left, and the bootstrap servers asked."""
    with scripted_broker({}) as peer:
        again = MetadataResponse(brokers=[], topics=[], error_code=Error.REBOOTSTRAP_REQUIRED)
        usual = metadata(lambda: peer, [topic_led("t")])
        peer.script[MetadataRequest] = [usual, again, usual]
        cluster = open_cluster(peer.bootstrap)
        before = cluster.leader("t", 0)
        assert cluster.topics().keys() == {"t"}
        assert not before.is_open


def test_a_cluster_that_has_answered_once_is_waited_for(open_cluster: Opened) -> None:
    """Losing connection after connection is a restart then, and no wrong address."""
    with scripted_broker({}) as peer:
        usual = metadata(lambda: peer, [topic_led("t")])
        peer.script[MetadataRequest] = [usual, None, None, None, None, usual]
        cluster = open_cluster(peer.bootstrap)
        assert cluster.topics().keys() == {"t"}
        assert cluster.topics().keys() == {"t"}


def test_coordinators(cluster: Cluster, fresh_name: str) -> None:
    """Of a group and of a transactional id; found once."""
    assert cluster.coordinator(fresh_name) is cluster.coordinator(fresh_name)
    assert cluster.coordinator(fresh_name, transactional=True).is_open
    cluster.forget_coordinator(fresh_name)
    assert cluster.coordinator(fresh_name).is_open


def test_a_restarted_broker_is_found_again(open_cluster: Opened) -> None:
    """Connections are opened again when they are lost."""
    with Broker() as broker:
        cluster = open_cluster(broker.bootstrap_servers)
        create_topic(cluster, "t", 1, {})
        broker.restart()
        assert "t" in cluster.topics()
        assert cluster.leader("t", 0).is_open


def test_all_reasons_are_told_when_no_broker_answers(open_cluster: Opened) -> None:
    """One error that names every bootstrap server, its reason and the remedy."""
    closed = unused_port()
    with listening(zookeeper) as keeper, http_server() as registry:
        cluster = open_cluster(
            f"127.0.0.1:{closed},127.0.0.1:{keeper},127.0.0.1:{registry},headrace.invalid:9092",
            default_api_timeout_ms="50",
            request_timeout_ms="1000",
        )
        with pytest.raises(NoBroker) as caught:
            cluster.topics()
    text = str(caught.value)
    assert f"127.0.0.1:{closed} refused the connection (start the broker, or correct" in text
    assert f"127.0.0.1:{keeper} is ZooKeeper, not a Kafka broker (give the broker's own" in text
    assert f"127.0.0.1:{registry} is an HTTP server" in text
    assert "headrace.invalid cannot be resolved" in text


def test_a_stranger_is_told_at_once(open_cluster: Opened) -> None:
    """Waiting does not turn ZooKeeper into a broker, so nobody waits."""
    with listening(zookeeper) as port:
        cluster = open_cluster(f"127.0.0.1:{port}", default_api_timeout_ms="3600000")
        with pytest.raises(NoBroker, match="is ZooKeeper"):
            cluster.topics()


def test_tls_on_a_plaintext_port(open_cluster: Opened, bootstrap: str) -> None:
    """Named as such, with the protocol that was asked for."""
    cluster = open_cluster(bootstrap, security_protocol="SSL")
    with pytest.raises(NoBroker, match=r"speaks plaintext, but security.protocol=SSL asks for TLS"):
        cluster.topics()


def test_silence_is_bounded(open_cluster: Opened) -> None:
    """A port that takes connections and says nothing costs its time-out, no more."""
    with listening(silent) as port:
        cluster = open_cluster(
            f"127.0.0.1:{port}", request_timeout_ms="100", default_api_timeout_ms="300"
        )
        with pytest.raises(NoBroker, match="does not answer as a Kafka broker"):
            cluster.topics()


def test_one_cluster_per_process_and_settings(cluster: Cluster) -> None:
    """A forked child does not share its parent's connections."""
    shared = shared_cluster(cluster.settings)
    assert shared_cluster(cluster.settings) is shared
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        is_other = shared_cluster(cluster.settings) is not shared
        os.write(writer, b"other" if is_other else b"same")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"other"
    os.close(reader)
    os.close(writer)
