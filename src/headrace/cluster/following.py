"""What changed nodes of the coordination tree mean: the way in which brokers hear of each other.

An event says that a node has changed, not how. `roots_of` says what must be read, and
`changes_from` compares what was read with the image and returns what is new of it. Reading comes
late and sees more than the event meant, sometimes half of what was written together; so everything
is compared by version, nothing ever goes back, and what cannot be understood yet is left alone:
whoever wrote the other half has caused an event for it too.

The roots are in the order in which they must be read and applied, one after the other: topics
before their settings. Whoever acts on the changes does so best when all roots are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from headrace.cluster import layout
from headrace.cluster.config_owners import ConfigOwner, OwnerKind, topic_owner
from headrace.cluster.image import (
    NO_CONTROLLER,
    NO_NODE,
    BrokerRegistered,
    BrokerRegistration,
    BrokerStarted,
    BrokerUnregistered,
    Changes,
    ClusterImage,
    ConfigChanged,
    ControllerChanged,
    ControllerEpochChanged,
    FeaturesChanged,
    PartitionChanged,
    PartitionImage,
    PartitionsAdded,
    TopicCreated,
    TopicDeleted,
    TopicImage,
)
from headrace.coordination.tree import Node, NodeChange, NodeEvent
from headrace.errors import CorruptData

# Whatever lies below the first of these is read before what lies below the next one.
_ORDER: Final = (
    layout.TOPIC_IDS,
    layout.TOPICS,
    *layout.CONFIGS.values(),
    layout.BROKER_EPOCHS,
    layout.BROKER_IDS,
    layout.FEATURES,
    layout.CONTROLLER_EPOCH,
    layout.CONTROLLER,
)
_SINGLE_NODES: Final = frozenset({layout.FEATURES, layout.CONTROLLER_EPOCH, layout.CONTROLLER})


def roots_of(events: Iterable[NodeEvent]) -> list[str]:
    """What must be read because of some events, each once and in order.

    That is a whole topic, one partition's state, a broker, a node with settings, `/controller`…
    Nodes that nobody keeps in an image are left out.
    """
    found: dict[str, tuple[int, str]] = {}
    for event in events:
        if event.path not in found and (place := _place(event)) is not None:
            found[event.path] = place
    # The node of a topic is a group of its own: reading it reads the states below it.
    roots = [path for path, (_, whole) in found.items() if whole == path or whole not in found]
    return sorted(roots, key=lambda path: found[path][0])


def changes_from(image: ClusterImage, root: str, nodes: Mapping[str, Node]) -> Changes:
    """What the nodes at and below a root say that the image does not know.

    CorruptData names a node that holds something else than it should.
    """
    node = nodes.get(root)
    if root == layout.CONTROLLER:
        controller_id = NO_CONTROLLER if node is None else layout.decode_controller(root, node.data)
        return _controller_changes(image, controller_id)
    if root == layout.CONTROLLER_EPOCH:
        epoch = image.controller_epoch if node is None else layout.decode_number(root, node.data)
        return [ControllerEpochChanged(epoch)] if epoch > image.controller_epoch else []
    if root == layout.FEATURES:
        if node is None or node.version <= image.features_epoch:
            return []
        return [FeaturesChanged(layout.decode_features(root, node.data), node.version)]
    parent, _, name = root.rpartition("/")
    if parent == layout.TOPICS:
        return _topic_changes(image, name, read_topic(name, nodes))
    if name == "state":
        return _state_changes(image, root, node)
    if parent == layout.TOPIC_IDS:
        return _id_changes(image, name, node)
    if parent == layout.BROKER_EPOCHS:
        version = NO_NODE if node is None else node.version
        return _start_changes(image, layout.decode_number(root, name), version)
    if parent == layout.BROKER_IDS:
        broker_id = layout.decode_number(root, name)
        broker = None if node is None else layout.decode_broker(root, broker_id, node.data)
        return _broker_changes(image, broker_id, broker)
    configs = {} if node is None else layout.decode_configs(root, node.data)
    version = NO_NODE if node is None else node.version
    return _config_changes(image, layout.config_owner(root), configs, version)


def differences(image: ClusterImage, fresh: ClusterImage) -> Changes:
    """What leads from an image to one that was read later, however much lies between them."""
    changes: Changes = []
    replaced = image.topics.keys() - fresh.topics.keys()
    changes += [TopicDeleted(image.topics[name]) for name in sorted(replaced)]
    for name, topic in fresh.topics.items():
        known = image.topics.get(name)
        if known is not None and known.id == topic.id:
            changes += _partition_changes(known, topic)
            continue
        replaced.add(name)
        changes += [TopicDeleted(known)] if known is not None else []
        owner = topic_owner(name)
        version = fresh.config_versions.get(owner, NO_NODE)
        changes.append(TopicCreated(topic, dict(fresh.config_of(owner)), version))
    for owner in dict.fromkeys((*image.config_versions, *fresh.config_versions)):
        if owner.kind is not OwnerKind.TOPIC or owner.name not in replaced:
            version = fresh.config_versions.get(owner, NO_NODE)
            changes += _config_changes(image, owner, dict(fresh.config_of(owner)), version)
    for broker_id, epoch in fresh.broker_epochs.items():
        changes += _start_changes(image, broker_id, epoch)
    for broker_id in dict.fromkeys((*image.brokers, *fresh.brokers)):
        changes += _broker_changes(image, broker_id, fresh.brokers.get(broker_id))
    if fresh.features_epoch > image.features_epoch:
        changes.append(FeaturesChanged(fresh.features, fresh.features_epoch))
    if fresh.controller_epoch > image.controller_epoch:
        changes.append(ControllerEpochChanged(fresh.controller_epoch))
    return changes + _controller_changes(image, fresh.controller_id)


# -- what nodes say --------------------------------------------------------------------------------


def children(nodes: Mapping[str, Node], parent: str) -> Iterator[tuple[str, str, Node]]:
    """Name, path and node of the direct children of a path, from a subtree that was read."""
    prefix = parent + "/"
    start = len(prefix)
    for path, node in nodes.items():
        if path.startswith(prefix) and path.find("/", start) < 0:
            yield path[start:], path, node


def read_topic(name: str, nodes: Mapping[str, Node]) -> TopicImage | str | None:
    """A topic from its nodes; None without its node; the path of a state that is missing."""
    path = layout.topic_path(name)
    node = nodes.get(path)
    if node is None:
        return None
    topic_id, assignments = layout.decode_topic(path, node.data)
    partitions: list[PartitionImage] = []
    for number, assigned in enumerate(assignments):
        state_path = layout.state_path(name, number)
        state = nodes.get(state_path)
        if state is None:
            return state_path
        partitions.append(layout.decode_state(state_path, state.data, state.version, assigned))
    return TopicImage(name, topic_id, partitions, node.version)


# -- what is new of it -----------------------------------------------------------------------------


def _place(event: NodeEvent) -> tuple[int, str] | None:
    """Where in the order a node is read, and what may be read in its place; None: not at all."""
    path = event.path
    if path in _SINGLE_NODES:
        return _ORDER.index(path), path
    parent = path.rpartition("/")[0]
    if path.startswith(layout.TOPICS + "/"):
        parts = path.split("/", 7)
        if len(parts) == 7 and parts[6] == "state":
            return _ORDER.index(layout.TOPICS), layout.topic_path(parts[3])
        return (_ORDER.index(layout.TOPICS), path) if len(parts) == 4 else None
    users = layout.CONFIGS[OwnerKind.USER]
    if path.startswith(users + "/"):
        return _ORDER.index(users), path  # one below another, with settings in each
    if parent == layout.TOPIC_IDS and event.change is NodeChange.CREATED:
        return None
    return (_ORDER.index(parent), path) if parent in _ORDER else None


def _controller_changes(image: ClusterImage, controller_id: int) -> Changes:
    return [ControllerChanged(controller_id)] if controller_id != image.controller_id else []


def _start_changes(image: ClusterImage, broker_id: int, epoch: int) -> Changes:
    if epoch <= image.broker_epochs.get(broker_id, NO_NODE):
        return []
    known = image.brokers.get(broker_id)
    is_over = known is not None and known.epoch < epoch
    started = BrokerStarted(broker_id, epoch)
    return [started, BrokerUnregistered(broker_id)] if is_over else [started]


def _broker_changes(
    image: ClusterImage, broker_id: int, broker: BrokerRegistration | None
) -> Changes:
    known = image.brokers.get(broker_id)
    if broker is not None and broker.epoch < image.broker_epochs.get(broker_id, 0):
        broker = None  # of a life that is over; its session has not expired yet
    if known == broker:
        return []
    if broker is None:
        return [BrokerUnregistered(broker_id)]
    if known is None or known.epoch == broker.epoch:
        return [BrokerRegistered(broker)]
    if broker.epoch < known.epoch:
        return []
    return [BrokerUnregistered(broker_id), BrokerRegistered(broker)]


def _id_changes(image: ClusterImage, text: str, node: Node | None) -> Changes:
    """A topic whose id is gone is gone, whatever has its name now."""
    try:
        name = image.topic_names.get(layout.parse_id(text))
    except ValueError:
        raise CorruptData(f"node {layout.TOPIC_IDS}/{text} is not named by a topic id") from None
    return [TopicDeleted(image.topics[name])] if node is None and name is not None else []


def _topic_changes(image: ClusterImage, name: str, topic: TopicImage | str | None) -> Changes:
    known = image.topics.get(name)
    if isinstance(topic, str):
        return []  # It was deleted, or grew, while it was read: more events are on their way.
    if topic is None:
        return [TopicDeleted(known)] if known is not None else []
    if known is None:
        owner = topic_owner(name)
        version = image.config_versions.get(owner, NO_NODE)
        return [TopicCreated(topic, dict(image.config_of(owner)), version)]
    if known.id != topic.id:
        return [TopicDeleted(known), TopicCreated(topic, config_version=NO_NODE)]
    return _partition_changes(known, topic)


def _state_changes(image: ClusterImage, path: str, node: Node | None) -> Changes:
    name, number = path.split("/")[3], layout.decode_number(path, path.split("/")[5])
    known = image.partition(name, number)
    if node is None or known is None or node.version <= known.partition_epoch:
        return []
    assigned = layout.ReplicaAssignment(known.replicas, known.adding, known.removing)
    read = layout.decode_state(path, node.data, node.version, assigned)
    return [PartitionChanged(name, number, read, image.topics[name].version)]


def _partition_changes(known: TopicImage, read: TopicImage) -> Changes:
    """The newer state and the newer replicas of each partition, whichever nodes they came from."""
    version = max(known.version, read.version)
    changes: Changes = []
    for number, (before, after) in enumerate(zip(known.partitions, read.partitions, strict=False)):
        state = after if after.partition_epoch > before.partition_epoch else before
        assigned = after if read.version > known.version else before
        merged = replace(
            state,
            replicas=assigned.replicas,
            adding=assigned.adding,
            removing=assigned.removing,
        )
        if merged != before:
            changes.append(PartitionChanged(known.name, number, merged, version))
    existing = len(known.partitions)
    if read.version > known.version:
        if len(read.partitions) > existing:
            changes.append(PartitionsAdded(read, existing))
        elif not changes:
            # Rewritten as it was; who decides on it must know the version all the same.
            changes.append(PartitionChanged(known.name, 0, known.partitions[0], version))
    return changes


def _config_changes(
    image: ClusterImage, owner: ConfigOwner, configs: dict[str, str], version: int
) -> Changes:
    known = image.config_versions.get(owner, NO_NODE)
    is_transient = owner.kind.is_transient
    if version == known and (not is_transient or configs == image.config_of(owner)):
        return []
    news: Changes = [ConfigChanged(owner, configs, version)]
    if known == NO_NODE or version == NO_NODE or version > known:
        return news
    # The node of a group or a client is removed with its last setting, and a new one counts from 0
    # again. Those of a topic begin anew with the topic itself; an older one is an older read.
    return [ConfigChanged(owner, {}, NO_NODE), *news] if is_transient else []
