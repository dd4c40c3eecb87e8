"""Changes of the cluster as operations on the coordination tree, and the tree as an image.

The controller decides on an image, `ops_for` says how its changes are written, and only when the
tree has taken them all is `ClusterImage.apply` called. The version of a partition's state node is
its partition epoch, so a decision made on an old image fails with BadVersion instead of undoing a
newer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from headrace.cluster import features, layout
from headrace.cluster.image import (
    NO_CONTROLLER,
    BrokerConfigChanged,
    BrokerRegistered,
    BrokerRegistration,
    BrokerUnregistered,
    Change,
    ClusterImage,
    ControllerChanged,
    FeaturesChanged,
    GroupConfigChanged,
    PartitionChanged,
    PartitionImage,
    PartitionsAdded,
    TopicConfigChanged,
    TopicCreated,
    TopicDeleted,
    TopicImage,
)
from headrace.coordination.tree import (
    Create,
    Delete,
    Node,
    NodeExists,
    NoNode,
    Op,
    Set,
    Tree,
)
from headrace.errors import CorruptData


def initialize(tree: Tree, new_cluster_id: Callable[[], str]) -> str:
    """Make the nodes that every cluster has where they are missing; returns the cluster id."""
    wanted = dict.fromkeys(layout.SKELETON, b"")
    wanted[layout.CONTROLLER_EPOCH] = b"0"
    wanted[layout.broker_config_path(None)] = layout.encode_configs({})
    wanted[layout.FEATURES] = layout.encode_features(features.DEFAULT_LEVELS)
    if not tree.exists(layout.CLUSTER_ID):
        wanted[layout.CLUSTER_ID] = layout.encode({"version": "1", "id": new_cluster_id()})
    _create_missing(tree, wanted)
    return _cluster_id(tree.get(layout.CLUSTER_ID).data)


def load_image(tree: Tree) -> ClusterImage:
    """Everything the tree says of the cluster."""
    image = ClusterImage(_cluster_id(tree.get(layout.CLUSTER_ID).data))
    image.controller_id = read_controller_id(tree)
    brokers = tree.subtree("/brokers")
    configs = tree.subtree("/config")
    image.apply(
        BrokerRegistered(layout.decode_broker(path, _number(path, name), node.data))
        for name, path, node in _children(brokers, layout.BROKER_IDS)
    )
    image.apply(
        TopicCreated(
            _topic(name, path, node, brokers),
            _configs(configs, layout.topic_config_path(name)),
        )
        for name, path, node in _children(brokers, layout.TOPICS)
    )
    for name, path, _ in _children(configs, layout.BROKER_CONFIGS):
        broker_id = None if name == layout.DEFAULT_ENTITY else _number(path, name)
        image.apply([BrokerConfigChanged(broker_id, _configs(configs, path))])
    for name, path, _ in _children(configs, layout.GROUP_CONFIGS):
        group = layout.group_of(name)
        image.apply([GroupConfigChanged(group, _configs(configs, path), is_first=True)])
    _load_features(tree, image)
    return image


def ops_for(changes: Iterable[Change], *, controller_epoch: int = 0) -> list[Op]:
    """The transaction that writes the changes. Brokers register themselves: see `register`."""
    return [op for change in changes for op in _ops_for_one(change, controller_epoch)]


def register(tree: Tree, broker: BrokerRegistration, now_ms: int) -> None:
    """Announce this broker for as long as the session lives; NodeExists if the id is taken."""
    _create_missing(tree, {layout.broker_config_path(broker.id): layout.encode_configs({})})
    tree.create(layout.broker_path(broker.id), layout.encode_broker(broker, now_ms), ephemeral=True)


def read_controller_id(tree: Tree) -> int:
    """Which broker is the controller, or NO_CONTROLLER."""
    try:
        data = tree.get(layout.CONTROLLER).data
    except NoNode:
        return NO_CONTROLLER
    try:
        return int(layout.decode(layout.CONTROLLER, data)["brokerid"])
    except (KeyError, ValueError, TypeError) as error:
        raise CorruptData(f"node {layout.CONTROLLER} names no broker: {error!r}") from None


def elect_controller(tree: Tree, broker_id: int, now_ms: int) -> int | None:
    """Try to become the controller. The first to create the node wins.

    The winner gets its controller epoch, one higher than that of any controller before; a loser
    gets None and watches the node.
    """
    node = tree.get(layout.CONTROLLER_EPOCH)
    epoch = _number(layout.CONTROLLER_EPOCH, node.data) + 1
    claim = layout.encode({"version": 1, "brokerid": broker_id, "timestamp": str(now_ms)})
    try:
        # One transaction: there is never a controller without an epoch of its own.
        tree.multi(
            [
                Create(layout.CONTROLLER, claim, ephemeral=True),
                Set(layout.CONTROLLER_EPOCH, str(epoch).encode(), node.version),
            ]
        )
    except NodeExists:
        return None
    return epoch


def next_broker_id(tree: Tree, reserved_max_id: int) -> int:
    """A broker id that nobody had before, above the range that operators give out by hand."""
    return reserved_max_id + tree.set(layout.BROKER_SEQUENCE, b"")


def next_broker_epoch(tree: Tree) -> int:
    """A number that is higher for every start of any broker."""
    return tree.set(layout.BROKER_EPOCHS, b"")


def _ops_for_one(change: Change, controller_epoch: int) -> list[Op]:
    match change:
        case TopicCreated(topic, configs):
            return [
                Create(layout.topic_config_path(topic.name), layout.encode_configs(configs)),
                Create(layout.topic_path(topic.name), layout.encode_topic(topic)),
                Create(layout.topic_path(topic.name) + "/partitions"),
                *_create_partitions(topic, 0, controller_epoch),
            ]
        case TopicDeleted(topic):
            return _delete_topic(topic)
        case PartitionsAdded(topic, existing):
            return [
                Set(layout.topic_path(topic.name), layout.encode_topic(topic)),
                *_create_partitions(topic, existing, controller_epoch),
            ]
        case PartitionChanged(name, partition, image):
            return [
                Set(
                    layout.state_path(name, partition),
                    layout.encode_state(image, controller_epoch),
                    image.partition_epoch - 1,
                )
            ]
        case TopicConfigChanged(name, configs):
            return [Set(layout.topic_config_path(name), layout.encode_configs(configs))]
        case BrokerConfigChanged(broker_id, configs):
            return [Set(layout.broker_config_path(broker_id), layout.encode_configs(configs))]
        case GroupConfigChanged():
            return _set_group_configs(change)
        case FeaturesChanged(levels, epoch):
            return [Set(layout.FEATURES, layout.encode_features(levels), epoch - 1)]
        case BrokerRegistered() | BrokerUnregistered() | ControllerChanged():
            # These follow from ephemeral nodes, which only their owner's session can make.
            return []


def _create_partitions(topic: TopicImage, first: int, controller_epoch: int) -> list[Op]:
    ops: list[Op] = []
    for number, partition in enumerate(topic.partitions[first:], start=first):
        state = layout.encode_state(partition, controller_epoch)
        ops.append(Create(layout.partition_path(topic.name, number)))
        ops.append(Create(layout.state_path(topic.name, number), state))
    return ops


def _delete_topic(topic: TopicImage) -> list[Op]:
    ops: list[Op] = []
    for number in range(len(topic.partitions)):
        ops.append(Delete(layout.state_path(topic.name, number)))
        ops.append(Delete(layout.partition_path(topic.name, number)))
    ops.append(Delete(layout.topic_path(topic.name) + "/partitions"))
    ops.append(Delete(layout.topic_path(topic.name)))
    ops.append(Delete(layout.topic_config_path(topic.name)))
    return ops


def _set_group_configs(change: GroupConfigChanged) -> list[Op]:
    """A group without settings has no node: groups come and go, and nobody tidies up."""
    path = layout.group_config_path(change.group)
    if change.is_first:
        return [Create(path, layout.encode_configs(change.configs))] if change.configs else []
    if change.configs:
        return [Set(path, layout.encode_configs(change.configs))]
    return [Delete(path)]


def _load_features(tree: Tree, image: ClusterImage) -> None:
    node = tree.get(layout.FEATURES)
    image.features = layout.decode_features(layout.FEATURES, node.data)
    image.features_epoch = node.version
    features.check_supported(image.features)


def _topic(name: str, path: str, node: Node, nodes: dict[str, Node]) -> TopicImage:
    topic_id, assignment = layout.decode_topic(path, node.data)
    partitions: list[PartitionImage] = []
    for number, replicas in enumerate(assignment):
        state_path = layout.state_path(name, number)
        state = nodes.get(state_path)
        if state is None:
            raise CorruptData(f"node {state_path} is missing, though {path} counts that partition")
        partitions.append(layout.decode_state(state_path, state.data, state.version, replicas))
    return TopicImage(name, topic_id, partitions)


def _configs(nodes: dict[str, Node], path: str) -> dict[str, str]:
    node = nodes.get(path)
    return layout.decode_configs(path, node.data) if node is not None else {}


def _children(nodes: dict[str, Node], parent: str) -> Iterator[tuple[str, str, Node]]:
    """Name, path and node of the direct children of a path, from a subtree that was read."""
    prefix = parent + "/"
    start = len(prefix)
    for path, node in nodes.items():
        if path.startswith(prefix) and path.find("/", start) < 0:
            yield path[start:], path, node


def _number(path: str, text: str | bytes) -> int:
    try:
        return int(text)
    except ValueError:
        raise CorruptData(f"node {path}: {text!r} is not a number") from None


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
