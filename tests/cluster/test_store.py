"""Changes to nodes and back: what the tree holds, and that an image survives it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster import layout, store
from headrace.cluster.config_owners import OwnerKind, broker_owner, group_owner, topic_owner
from headrace.cluster.controller import Controllership
from headrace.cluster.image import (
    NO_CONTROLLER,
    BrokerRegistration,
    Change,
    ClusterImage,
    ConfigChanged,
    Endpoint,
    FeaturesChanged,
    PartitionChanged,
    PartitionImage,
)
from headrace.cluster.topics import NewTopic, create_partitions, delete_topic
from headrace.cluster.writing import ops_for
from headrace.coordination.local import LocalTree
from headrace.coordination.memory import MemoryStore, MemoryTree
from headrace.coordination.sqlite import SqliteTree
from headrace.coordination.tree import BadVersion, NodeExists, Op
from headrace.errors import ConfigError, CorruptData
from tests.cluster.clusters import broker, created, ids


@pytest.fixture(params=["memory", "sqlite"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LocalTree]:
    opened: LocalTree
    if request.param == "memory":
        opened = MemoryStore().session()
    else:
        opened = SqliteTree(str(tmp_path / "tree.sqlite"))
    store.initialize(opened, lambda: "the-cluster")
    for broker_id in (0, 1, 2):
        store.register(opened, broker(broker_id), now_ms=5)
    yield opened
    opened.close()


def commit(tree: LocalTree, image: ClusterImage, *changes: Change) -> None:
    """What a broker does: the tree first, then the image."""
    tree.multi(ops_for(image, changes))
    image.apply(changes)


def test_the_cluster_id_is_chosen_once(tree: LocalTree) -> None:
    """The first broker names the cluster, later ones find the name."""
    assert store.initialize(tree, lambda: "another") == "the-cluster"
    assert store.load_image(tree).cluster_id == "the-cluster"


class RacingTree(MemoryTree):
    """A session in which another broker initializes the cluster just before our first write."""

    rival: MemoryTree | None = None

    def multi(self, ops: Sequence[Op]) -> None:
        if self.rival is not None:
            rival, self.rival = self.rival, None
            store.initialize(rival, lambda: "of-the-rival")
        super().multi(ops)


def test_two_first_brokers_agree_on_the_cluster() -> None:
    """Starting at the same moment, both find all nodes and the same cluster id."""
    shared = MemoryStore()
    racing = RacingTree(shared, session_id=99)
    racing.rival = shared.session()
    assert store.initialize(racing, lambda: "ours") == "of-the-rival"
    assert store.load_image(racing).cluster_id == "of-the-rival"


@pytest.mark.spec("book2:J-08")
def test_an_operator_finds_the_nodes_of_zookeeper_era_kafka(tree: LocalTree) -> None:
    """The root shows the node tree that the book lists."""
    store.elect_controller(tree, 0, now_ms=5)
    expected = {"controller", "controller_epoch", "brokers", "admin", "config", "consumers"}
    expected |= {"isr_change_notification", "kafka-acl", "cluster"}
    assert expected <= set(tree.children("/"))
    assert tree.children("/brokers/ids") == ["0", "1", "2"]
    assert "<default>" in tree.children("/config/brokers")


@pytest.mark.spec("admin:RC-27")
def test_a_broker_node_reads_as_in_kafka(tree: LocalTree) -> None:
    """/brokers/ids/N is ephemeral and names host, port, endpoints and rack."""
    endpoints = {
        "CLIENTS": Endpoint("10.0.0.1", 9092, "SASL_SSL"),
        "LOCAL": Endpoint("::1", 9093, "PLAINTEXT"),
    }
    registration = BrokerRegistration(7, endpoints, "rack-a", epoch=12)
    store.register(tree, registration, now_ms=1_700_000_000_000)
    node = tree.get("/brokers/ids/7")
    assert node.ephemeral
    assert json.loads(node.data) == {
        "version": 5,
        "host": "10.0.0.1",
        "port": 9092,
        "endpoints": ["CLIENTS://10.0.0.1:9092", "LOCAL://[::1]:9093"],
        "listener_security_protocol_map": {"CLIENTS": "SASL_SSL", "LOCAL": "PLAINTEXT"},
        "rack": "rack-a",
        "features": {},
        "jmx_port": -1,
        "epoch": 12,
        "timestamp": "1700000000000",
    }
    assert store.load_image(tree).brokers[7] == registration


@pytest.mark.spec("slides:A10")
def test_a_broker_id_is_unique(tree: LocalTree) -> None:
    """A second broker with the same id is refused while the first lives."""
    with pytest.raises(NodeExists, match="/brokers/ids/1"):
        store.register(tree, broker(1), now_ms=5)


def test_a_topic_reads_as_in_kafka(tree: LocalTree) -> None:
    """Assignment with version 3 and the topic id; one state node for each partition."""
    image = store.load_image(tree)
    commit(tree, image, created(image, NewTopic("t", 2, 2, configs={"retention.ms": "1"})))
    assert json.loads(tree.get("/brokers/topics/t").data) == {
        "version": 3,
        "topic_id": "AAAAAAAAAAAAAAAAAAAD6A",
        "partitions": {"0": [0, 1], "1": [1, 2]},
        "adding_replicas": {},
        "removing_replicas": {},
    }
    assert json.loads(tree.get("/brokers/topics/t/partitions/1/state").data) == {
        "version": 1,
        "controller_epoch": 0,
        "leader": 1,
        "leader_epoch": 0,
        "isr": [1, 2],
    }
    assert json.loads(tree.get("/config/topics/t").data) == {
        "version": 1,
        "config": {"retention.ms": "1"},
    }


@pytest.mark.spec("slides:B17", "book1:R-06", "book1:Z-03", "book1:Z-05")
def test_an_image_survives_the_tree(tree: LocalTree) -> None:
    """After any changes, what is loaded equals what was applied."""
    image = store.load_image(tree)
    commit(tree, image, created(image, NewTopic("a", 3, 2)))
    commit(tree, image, created(image, NewTopic("b", 1, 3, configs={"cleanup.policy": "compact"})))
    commit(tree, image, create_partitions(image, "a", 5))
    commit(
        tree,
        image,
        PartitionChanged("a", 0, PartitionImage((0, 1), (1,), 1, 1, partition_epoch=1)),
        ConfigChanged(topic_owner("a"), {"segment.bytes": "1000000"}),
        ConfigChanged(broker_owner(1), {"log.cleaner.threads": "4"}),
        ConfigChanged(broker_owner(None), {"log.retention.ms": "1000"}),
        ConfigChanged(group_owner("g"), {"consumer.session.timeout.ms": "50000"}),
        FeaturesChanged({"transaction.version": 1}, epoch=1),
    )
    commit(tree, image, created(image, NewTopic("c", 1, 1)))
    commit(tree, image, delete_topic(image, name="c"))
    assert store.load_image(tree) == image
    commit(tree, image, ConfigChanged(broker_owner(1), {}), ConfigChanged(topic_owner("a"), {}))
    commit(tree, image, ConfigChanged(group_owner("g"), {"consumer.session.timeout.ms": "1"}))
    commit(tree, image, FeaturesChanged({}, epoch=2))
    assert store.load_image(tree) == image


def test_features_are_finalized_once(tree: LocalTree) -> None:
    """The first broker writes what it supports; a later start keeps what is agreed on."""
    image = store.load_image(tree)
    assert image.features == {
        "group.version": 1,
        "metadata.version": 30,
        "share.version": 1,
        "transaction.version": 2,
    }
    assert image.features_epoch == 0
    lowered = FeaturesChanged({"metadata.version": 30}, epoch=1)
    old = store.load_image(tree)
    commit(tree, image, lowered)
    store.initialize(tree, lambda: "another")
    assert store.load_image(tree).features == {"metadata.version": 30}
    with pytest.raises(BadVersion):
        tree.multi(ops_for(old, [lowered]))


def test_levels_of_a_newer_release_keep_a_broker_out(tree: LocalTree) -> None:
    """Starting would mean to misread what the others write."""
    tree.set("/feature", b'{"version":2,"status":1,"features":{"transaction.version":3}}')
    with pytest.raises(ConfigError, match=r"transaction.version at level 3; .* supports 0-2"):
        store.load_image(tree)


@pytest.mark.parametrize("group", ["g", ".", "..", "a/b", "%2E", "ü\n<default>", "\0", "a.b"])
def test_any_group_id_has_a_node_of_its_own(tree: LocalTree, group: str) -> None:
    """Group ids are any text; without settings nothing is left of them."""
    image = store.load_image(tree)
    before = tree.subtree("/")
    configs = {"consumer.session.timeout.ms": "50000"}
    commit(tree, image, ConfigChanged(group_owner(group), configs))
    assert store.load_image(tree).configs[OwnerKind.GROUP] == {group: configs}
    commit(tree, image, ConfigChanged(group_owner(group), {}))
    commit(tree, image, ConfigChanged(group_owner(group), {}))
    assert tree.subtree("/") == before


def test_a_deleted_topic_leaves_nothing(tree: LocalTree) -> None:
    """Partition, state and setting nodes go in the same transaction."""
    image = store.load_image(tree)
    before = tree.subtree("/")
    commit(tree, image, created(image, NewTopic("t", 3, 1)))
    commit(tree, image, delete_topic(image, name="t"))
    assert tree.subtree("/") == before


def test_a_decision_on_an_old_image_fails_whole(tree: LocalTree) -> None:
    """The partition epoch is the state node's version: compare-and-set protects newer truth."""
    image = store.load_image(tree)
    commit(tree, image, created(image, NewTopic("t", 2, 2)))
    stale = PartitionChanged("t", 0, PartitionImage((0, 1), (0,), 0, 0, partition_epoch=1))
    other = PartitionChanged("t", 1, PartitionImage((1, 2), (1,), 1, 0, partition_epoch=1))
    old = store.load_image(tree)
    commit(tree, image, stale)
    with pytest.raises(BadVersion):
        tree.multi(ops_for(old, [other, stale]))
    assert store.load_image(tree) == image


@pytest.mark.spec("admin:RC-24", "book2:J-04", "book2:J-09", "book1:Z-04")
def test_one_controller_at_a_time_and_epochs_count_them() -> None:
    """The first to create /controller wins; after its death another does, with a higher epoch."""
    shared = MemoryStore()
    one, two = shared.session(), shared.session()
    store.initialize(one, lambda: "c")
    assert store.read_controller_id(one) == NO_CONTROLLER
    assert store.elect_controller(one, 1, now_ms=5) == Controllership(1, 1, epoch_version=1)
    assert store.elect_controller(two, 2, now_ms=6) is None
    assert store.read_controller_id(two) == 1
    assert one.get("/controller").ephemeral
    shared.expire_session(one)
    assert store.read_controller_id(two) == NO_CONTROLLER
    assert store.elect_controller(two, 2, now_ms=7) == Controllership(2, 2, epoch_version=2)
    assert store.load_image(two).controller_id == 2
    assert two.get("/controller_epoch").data == b"2"


@pytest.mark.spec("slides:A25")
def test_generated_broker_ids_lie_above_the_reserved_range(tree: LocalTree) -> None:
    """broker.id.generation.enable: ids are unique for ever and never taken from operators."""
    assert [store.next_broker_id(tree, 1000) for _ in range(3)] == [1001, 1002, 1003]


def test_broker_epochs_only_grow(tree: LocalTree) -> None:
    """A restarted broker has a higher epoch than in any life before."""
    assert [store.next_broker_epoch(tree, 7) for _ in range(3)] == [1, 2, 3]
    assert store.next_broker_epoch(tree, 8) == 1
    assert store.load_image(tree).broker_epochs == {7: 3, 8: 1}


def test_topics_are_loaded_in_one_pass(tmp_path: Path) -> None:
    """Ten times the topics take ten times the work, and not a hundred times."""
    tree = SqliteTree(str(tmp_path / "tree.sqlite"))
    store.initialize(tree, lambda: "c")
    store.register(tree, broker(0), now_ms=5)
    image = store.load_image(tree)
    new_id = ids()
    seconds = []
    for batch in range(10):
        requests = [NewTopic(f"t-{batch}-{number}", 1, 1) for number in range(100)]
        commit(tree, image, *(created(image, request, new_id=new_id) for request in requests))
        seconds.append(seconds_to_load(tree, image))
    assert seconds[-1] < 40 * seconds[0]
    tree.close()


def seconds_to_load(tree: SqliteTree, image: ClusterImage) -> float:
    """What it takes at least to read the whole tree."""
    spent = []
    for _ in range(5):
        begun = time.process_time()
        loaded = store.load_image(tree)
        spent.append(time.process_time() - begun)
    assert loaded == image
    return min(spent)


@pytest.mark.parametrize(
    ("path", "data", "text"),
    [
        ("/brokers/topics/t", b"", "holds no JSON"),
        ("/brokers/topics/t", b"\xff", "holds no JSON"),
        ("/brokers/topics/t", b"[]", "no JSON object"),
        ("/brokers/topics/t", b"{}", "does not describe a topic"),
        ("/brokers/topics/t", b'{"topic_id":"x","partitions":{}}', "does not describe a topic"),
        ("/brokers/topics/t/partitions/0/state", b'{"leader":0}', "does not describe a partition"),
        ("/config/topics/t", b"{}", "no field 'config'"),
        ("/brokers/ids/0", b'{"endpoints":["x"]}', "does not describe a broker"),
        ("/cluster/id", b"{}", "no cluster id"),
        ("/controller", b"{}", "names no broker"),
        ("/feature", b"{}", "does not list features"),
        ("/feature", b'{"features":{"group.version":"1"}}', "does not list features"),
        ("/feature", b'{"features":{"group.version":true}}', "does not list features"),
    ],
)
def test_damaged_nodes_name_themselves(tree: LocalTree, path: str, data: bytes, text: str) -> None:
    """A node that holds something else than promised is CorruptData with its path."""
    image = store.load_image(tree)
    store.elect_controller(tree, 0, now_ms=5)
    commit(tree, image, created(image, NewTopic("t", 1, 1)))
    tree.set(path, data)
    with pytest.raises(CorruptData, match=text) as caught:
        store.load_image(tree)
    assert path in str(caught.value)


def test_nodes_of_a_wrong_kind_name_themselves(tree: LocalTree) -> None:
    """Broker ids are numbers, and a counted partition has a state node."""
    tree.create("/brokers/ids/x", b"{}", ephemeral=True)
    with pytest.raises(CorruptData, match="/brokers/ids/x: 'x' is not a number"):
        store.load_image(tree)
    tree.delete("/brokers/ids/x")
    image = store.load_image(tree)
    commit(tree, image, created(image, NewTopic("t", 1, 1)))
    tree.delete("/brokers/topics/t/partitions/0/state")
    with pytest.raises(CorruptData, match="state is missing"):
        store.load_image(tree)


@given(st.uuids())
def test_topic_ids_are_22_characters_and_come_back(topic_id: UUID) -> None:
    """Kafka prints an id as URL-safe base 64 without padding."""
    text = layout.id_text(topic_id)
    assert len(text) == 22
    assert layout.parse_id(text) == topic_id
