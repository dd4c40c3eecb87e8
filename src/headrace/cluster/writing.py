"""How changes are written to the coordination tree: each as operations of one transaction.

Whoever decides does so on an image, which may be old. So every operation names the version that the
image knows: if the tree has moved on, nothing is written, and the decision is made again. What a
controller writes also checks the epoch of its election, and what concerns a topic that it is still
the same topic (see `layout`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from headrace.cluster import layout
from headrace.cluster.config_owners import ConfigOwner, OwnerKind, topic_owner
from headrace.cluster.controller import Controllership
from headrace.cluster.image import (
    NO_NODE,
    BrokerRegistered,
    BrokerStarted,
    BrokerUnregistered,
    Change,
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
    same_assignment,
)
from headrace.coordination.tree import ANY_VERSION, Check, Create, Delete, Op, Set
from headrace.errors import InvariantViolated


def ops_for(
    image: ClusterImage,
    changes: Sequence[Change],
    *,
    controllership: Controllership | None = None,
) -> list[Op]:
    """The transaction that writes the changes; `image` is what was known before them.

    A list that is too long for one transaction may be cut anywhere (see `chunks`), as long as each
    part is applied to the image before the next one is written. Brokers register themselves.
    """
    writing = _Writing(image, controllership)
    for change in changes:
        writing.add(change)
    return writing.finish()


def chunks(changes: Iterable[Change], max_ops: int) -> Iterator[list[Change]]:
    """The changes in parts of at most `max_ops` operations each, as far as they can be divided.

    A topic that is too large to be made at once is made with its first partitions, and grows.
    """
    part: list[Change] = []
    size = 0
    for change in changes:
        for piece in _pieces(change, max_ops):
            cost = _cost(piece)
            if part and size + cost > max_ops:
                yield part
                part, size = [], 0
            part.append(piece)
            size += cost
    if part:
        yield part


class _Writing:
    """One transaction that is being put together."""

    def __init__(self, image: ClusterImage, controllership: Controllership | None) -> None:
        self._image = image
        self._epoch = image.controller_epoch if controllership is None else controllership.epoch
        self._is_controller = controllership is not None
        self._ops: list[Op] = []
        if controllership is not None:
            self._ops.append(Check(layout.CONTROLLER_EPOCH, controllership.epoch_version))
        self._checked: set[str] = set()  # paths
        self._moved: dict[str, dict[int, PartitionImage]] = {}
        self._noted: list[tuple[str, int]] = []
        self._config_versions: dict[ConfigOwner, int] = {}

    def add(self, change: Change) -> None:
        match change:
            case PartitionChanged():
                self._change_partition(change)
            case TopicCreated():
                self._create_topic(change.topic, change.configs)
            case TopicDeleted(topic):
                self._delete_topic(topic)
            case PartitionsAdded(topic, existing):
                self._check_topic(topic.name)
                self._moved.setdefault(topic.name, {})
                self._moved[topic.name] |= dict(enumerate(topic.partitions[existing:], existing))
                self._create_partitions(topic, existing)
            case ConfigChanged(owner, configs):
                if owner.kind is OwnerKind.TOPIC:
                    self._check_topic(owner.name)
                self._set_config(owner, configs)
            case FeaturesChanged(levels, epoch):
                version = self._image.features_epoch
                if epoch != version + 1:
                    raise InvariantViolated(f"features: epoch {version} is followed by {epoch}")
                self._ops.append(Set(layout.FEATURES, layout.encode_features(levels), version))
            case (
                BrokerRegistered()
                | BrokerUnregistered()
                | BrokerStarted()
                | ControllerChanged()
                | ControllerEpochChanged()
            ):
                # These follow from nodes that only the broker itself makes: see `store`.
                pass

    def finish(self) -> list[Op]:
        """All operations, with one write for each topic node and one note on changed ISRs."""
        for name, partitions in self._moved.items():
            topic = self._image.topics[name]
            after = dict(enumerate(topic.partitions)) | partitions
            written = replace(topic, partitions=[after[number] for number in range(len(after))])
            path = layout.topic_path(name)
            self._ops.append(Set(path, layout.encode_topic(written), topic.version))
        if self._noted:
            data = layout.encode_isr_changes(self._noted)
            path = f"{layout.ISR_CHANGES}/isr_change_"
            self._ops.append(Create(path, data, sequential=True))
        return self._ops

    def _change_partition(self, change: PartitionChanged) -> None:
        name, number, after = change.topic, change.partition, change.image
        before = self._image.partition(name, number)
        if before is None or after.partition_epoch != before.partition_epoch + 1:
            known = "nothing" if before is None else f"partition epoch {before.partition_epoch}"
            raise InvariantViolated(
                f"{name}-{number}: {known} is followed by {after.partition_epoch}"
            )
        self._check_topic(name)
        self._check_joining(name, [each for each in after.isr if each not in before.isr])
        state = layout.encode_state(after, self._epoch)
        self._ops.append(Set(layout.state_path(name, number), state, before.partition_epoch))
        if not same_assignment(before, after):
            self._moved.setdefault(name, {})[number] = after
        elif not self._is_controller and before.leader == after.leader:
            self._noted.append((name, number))

    def _check_topic(self, name: str) -> None:
        self._check(layout.topic_id_path(self._image.topics[name].id), 0)

    def _check_joining(self, topic: str, broker_ids: Sequence[int]) -> None:
        """Who enters an ISR is a replica, and has fetched in the life that is registered.

        Who the replicas are stands in another node than the ISR: both may have been read at
        different moments, and the version of one says nothing of the other.
        """
        if broker_ids:
            self._check(layout.topic_path(topic), self._image.topics[topic].version)
        for broker_id in broker_ids:
            broker = self._image.brokers.get(broker_id)
            if broker is not None and broker_id in self._image.broker_epochs:
                self._check(layout.broker_epoch_path(broker_id), broker.epoch)

    def _check(self, path: str, version: int) -> None:
        if path not in self._checked:
            self._checked.add(path)
            self._ops.append(Check(path, version))

    def _create_topic(self, topic: TopicImage, configs: dict[str, str]) -> None:
        path = layout.topic_path(topic.name)
        self._ops += [
            Create(layout.topic_id_path(topic.id), topic.name.encode()),
            Create(layout.config_path(topic_owner(topic.name)), layout.encode_configs(configs)),
            Create(path, layout.encode_topic(topic)),
            Create(path + "/partitions"),
        ]
        self._create_partitions(topic, 0)

    def _create_partitions(self, topic: TopicImage, first: int) -> None:
        states: dict[PartitionImage, bytes] = {}  # new partitions are much alike
        for number, partition in enumerate(topic.partitions[first:], start=first):
            state = states.get(partition)
            if state is None:
                state = states[partition] = layout.encode_state(partition, self._epoch)
            self._ops.append(Create(layout.partition_path(topic.name, number)))
            self._ops.append(Create(layout.state_path(topic.name, number), state))

    def _delete_topic(self, topic: TopicImage) -> None:
        """Whatever its leaders do meanwhile: only that it is this topic, and as large, matters."""
        path = layout.topic_path(topic.name)
        self._ops.append(Delete(layout.topic_id_path(topic.id), 0))
        for number in range(len(topic.partitions)):
            self._ops.append(Delete(layout.state_path(topic.name, number), ANY_VERSION))
            self._ops.append(Delete(layout.partition_path(topic.name, number), ANY_VERSION))
        self._ops.append(Delete(path + "/partitions", ANY_VERSION))
        self._ops.append(Delete(path, self._image.topics[topic.name].version))
        owner = topic_owner(topic.name)
        if owner in self._image.config_versions:
            self._ops.append(Delete(layout.config_path(owner), ANY_VERSION))

    def _set_config(self, owner: ConfigOwner, configs: dict[str, str]) -> None:
        """A transient owner without settings has no node, so that the nodes of groups that are gone
        do not accumulate. The node of a user stays while there may be others below it.
        """
        path, data = layout.config_path(owner), layout.encode_configs(configs)
        version = self._config_version(owner)
        if configs:
            for parent in owner.parents:
                if self._config_version(parent) == NO_NODE:
                    self._ops.append(Create(layout.config_path(parent)))
                    self._config_versions[parent] = 0
        elif owner.kind.is_transient and not self._has_room_below(owner):
            if version != NO_NODE:
                self._ops.append(Delete(path, version))
                self._config_versions[owner] = NO_NODE
            return
        self._ops.append(Create(path, data) if version == NO_NODE else Set(path, data, version))
        self._config_versions[owner] = version + 1

    def _has_room_below(self, owner: ConfigOwner) -> bool:
        room = owner.room_below
        return room is not None and self._config_version(room) != NO_NODE

    def _config_version(self, owner: ConfigOwner) -> int:
        known = self._image.config_versions.get(owner, NO_NODE)
        return self._config_versions.get(owner, known)


def _pieces(change: Change, max_ops: int) -> Iterator[Change]:
    if not isinstance(change, TopicCreated) or _cost(change) <= max_ops:
        yield change
        return
    topic = change.topic
    step = max(max_ops // 2 - 2, 1)
    yield replace(change, topic=replace(topic, partitions=topic.partitions[:step]))
    for index, first in enumerate(range(step, len(topic.partitions), step), start=1):
        grown = replace(topic, partitions=topic.partitions[: first + step], version=index)
        yield PartitionsAdded(grown, first)


def _cost(change: Change) -> int:
    match change:
        case TopicCreated(topic) | TopicDeleted(topic):
            return 4 + 2 * len(topic.partitions)
        case PartitionsAdded(topic, existing):
            return 2 + 2 * (len(topic.partitions) - existing)
        case PartitionChanged():
            return 2
        case ConfigChanged():
            return 3
    return 2
