"""The coordination tree as an image, and the nodes that brokers make for themselves.

What a decision writes is said in `writing`, what a changed node means in `following`; here are the
beginnings: making a cluster, loading it, registering in it, and becoming its controller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from headrace.cluster import features, layout
from headrace.cluster.config_owners import ALL_BROKERS, broker_owner
from headrace.cluster.controller import Controllership
from headrace.cluster.following import children, read_topic
from headrace.cluster.image import (
    NO_CONTROLLER,
    NO_NODE,
    BrokerRegistered,
    BrokerRegistration,
    BrokerStarted,
    ClusterImage,
    ConfigChanged,
    TopicCreated,
    TopicImage,
)
from headrace.coordination.tree import (
    BadVersion,
    Check,
    Create,
    Delete,
    Node,
    NodeExists,
    NoNode,
    Set,
    Tree,
)
from headrace.errors import CorruptData

_MAX_TRIES: Final = 5
_SETTINGS: Final = tuple(f"{folder}/" for folder in layout.CONFIGS.values())


def initialize(tree: Tree, new_cluster_id: Callable[[], str]) -> str:
    """Make the nodes that every cluster has where they are missing; returns the cluster id."""
    wanted = dict.fromkeys(layout.SKELETON, b"")
    wanted[layout.CONTROLLER_EPOCH] = b"0"
    wanted[layout.config_path(ALL_BROKERS)] = layout.encode_configs({})
    wanted[layout.FEATURES] = layout.encode_features(features.DEFAULT_LEVELS)
    if not tree.exists(layout.CLUSTER_ID):
        wanted[layout.CLUSTER_ID] = layout.encode({"version": "1", "id": new_cluster_id()})
    elif not tree.exists(layout.TOPIC_IDS):
        wanted |= _topic_ids(tree)
    _create_missing(tree, wanted)
    return _cluster_id(tree.get(layout.CLUSTER_ID).data)


def load_image(tree: Tree) -> ClusterImage:
    """Everything the tree says of the cluster."""
    image = ClusterImage(_cluster_id(tree.get(layout.CLUSTER_ID).data))
    image.controller_id = read_controller_id(tree)
    epoch = tree.get(layout.CONTROLLER_EPOCH).data
    image.controller_epoch = layout.decode_number(layout.CONTROLLER_EPOCH, epoch)
    brokers, configs = tree.subtree("/brokers"), tree.subtree("/config")
    image.apply(
        BrokerStarted(layout.decode_number(path, name), node.version)
        for name, path, node in children(brokers, layout.BROKER_EPOCHS)
    )
    image.apply(
        BrokerRegistered(layout.decode_broker(path, layout.decode_number(path, name), node.data))
        for name, path, node in children(brokers, layout.BROKER_IDS)
    )
    for name, _, _ in children(brokers, layout.TOPICS):
        topic = _load_topic(tree, name, brokers)
        if topic is not None:
            image.apply([TopicCreated(topic, config_version=NO_NODE)])
    for path, node in configs.items():
        if path.startswith(_SETTINGS):
            settings = layout.decode_configs(path, node.data)
            image.apply([ConfigChanged(layout.config_owner(path), settings, node.version)])
    _load_features(tree, image)
    return image


def register(tree: Tree, broker: BrokerRegistration, now_ms: int) -> None:
    """Announce this broker for as long as the session lives; NodeExists if the id is taken.

    A registration with our own log directories is that of an earlier life, whose session has not
    expired yet: no living process could have them, for they are locked. It is replaced.
    """
    _create_missing(tree, {layout.config_path(broker_owner(broker.id)): layout.encode_configs({})})
    path = layout.broker_path(broker.id)
    ours = Create(path, layout.encode_broker(broker, now_ms), ephemeral=True)
    for _ in range(_MAX_TRIES):
        try:
            tree.multi([ours])
            return
        except NodeExists:
            try:
                node = tree.get(path)
                found = layout.decode_broker(path, broker.id, node.data)
                if not broker.directories or set(found.directories) != set(broker.directories):
                    raise
                tree.multi([Delete(path, node.version), ours])
                return
            except (NoNode, BadVersion):
                continue  # it has just gone, or changed hands
    raise NodeExists(path, f"others register as broker {broker.id} all the time")


def read_controller_id(tree: Tree) -> int:
    """Which broker is the controller, or NO_CONTROLLER."""
    try:
        data = tree.get(layout.CONTROLLER).data
    except NoNode:
        return NO_CONTROLLER
    return layout.decode_controller(layout.CONTROLLER, data)


def elect_controller(tree: Tree, broker_id: int, now_ms: int) -> Controllership | None:
    """Try to become the controller. The first to create the node wins.

    The winner gets its controller epoch, one higher than that of any controller before; a loser
    gets None and watches the node.
    """
    node = tree.get(layout.CONTROLLER_EPOCH)
    epoch = layout.decode_number(layout.CONTROLLER_EPOCH, node.data) + 1
    try:
        # One transaction: there is never a controller without an epoch of its own.
        tree.multi(
            [
                Create(
                    layout.CONTROLLER, layout.encode_controller(broker_id, now_ms), ephemeral=True
                ),
                Set(layout.CONTROLLER_EPOCH, str(epoch).encode(), node.version),
            ]
        )
    except (NodeExists, BadVersion):
        # Another is the controller, or has been since the epoch was read.
        return None
    return Controllership(broker_id, epoch, node.version + 1)


def clear_isr_changes(tree: Tree, controllership: Controllership, *, max_ops: int = 500) -> int:
    """Remove the notes of leaders that have changed their ISR; returns how many there were.

    Old tools expect that the controller takes them away. Nobody has to read them: the states that
    they speak of are followed themselves.
    """
    names = tree.children(layout.ISR_CHANGES)
    for start in range(0, len(names), max_ops):
        part = names[start : start + max_ops]
        tree.multi(
            [
                Check(layout.CONTROLLER_EPOCH, controllership.epoch_version),
                *(Delete(f"{layout.ISR_CHANGES}/{name}") for name in part),
            ]
        )
    return len(names)


def next_broker_id(tree: Tree, reserved_max_id: int) -> int:
    """A broker id that nobody had before, above the range that operators give out by hand."""
    return reserved_max_id + tree.set(layout.BROKER_SEQUENCE, b"")


def next_broker_epoch(tree: Tree, broker_id: int, directories: Collection[str] = ()) -> int:
    """Begin a life of a broker: a number that is higher than that of every life before.

    From now on the last life is over for everybody, so this comes before anything else, also before
    stepping down. NodeExists if the id belongs to a broker with other log directories, which may
    well be alive.
    """
    path = layout.broker_path(broker_id)
    try:
        found = layout.decode_broker(path, broker_id, tree.get(path).data)
    except NoNode:
        pass
    else:
        if not directories or set(found.directories) != set(directories):
            raise NodeExists(path, f"broker {broker_id} is registered with other directories")
    _create_missing(tree, {layout.broker_epoch_path(broker_id): b""})
    return tree.set(layout.broker_epoch_path(broker_id), b"")


def _topic_ids(tree: Tree) -> dict[str, bytes]:
    """The nodes named by topic ids, for a tree that was made before there were any."""
    found = {}
    for name, path, node in children(tree.subtree(layout.TOPICS), layout.TOPICS):
        topic_id, _ = layout.decode_topic(path, node.data)
        found[layout.topic_id_path(topic_id)] = name.encode()
    return found


def _load_features(tree: Tree, image: ClusterImage) -> None:
    node = tree.get(layout.FEATURES)
    image.features = layout.decode_features(layout.FEATURES, node.data)
    image.features_epoch = node.version
    features.check_supported(image.features)


def _load_topic(tree: Tree, name: str, nodes: Mapping[str, Node]) -> TopicImage | None:
    """A topic, or None if it was deleted while the nodes were read one by one."""
    for _ in range(_MAX_TRIES):
        topic = read_topic(name, nodes)
        if isinstance(topic, TopicImage) or topic is None:
            return topic
        nodes = tree.subtree(layout.topic_path(name))
    raise CorruptData(
        f"node {topic} is missing, though {layout.topic_path(name)} counts that partition"
    )


def _cluster_id(data: bytes) -> str:
    cluster_id = layout.decode(layout.CLUSTER_ID, data).get("id")
    if not isinstance(cluster_id, str):
        raise CorruptData(f"node {layout.CLUSTER_ID} holds no cluster id")
    return cluster_id


def _create_missing(tree: Tree, wanted: Mapping[str, bytes]) -> None:
    """Create what is not there in one transaction, parents first."""
    while missing := [Create(path, data) for path, data in wanted.items() if not tree.exists(path)]:
        try:
            tree.multi(missing)
        except NodeExists:
            # Another broker started at the same moment; what it made is not missing any more.
            continue
