"""The cluster as one broker knows it: brokers, topics, partitions and dynamic settings.

The image is mutable and belongs to one thread, the broker's event loop: a handler reads it without
an `await` in between, so it never sees half a change, and a change costs what it touches instead of
a copy of ten thousand topics. A `PartitionImage` is a value that is replaced, so whoever keeps one
keeps what was true when it was read. `apply` is the only mutator, live and at load.

The same news reaches a broker by several ways: as its own decision, as an event, as part of a whole
that is read anew. Every fact therefore has a version, that of its node in the tree, and `apply`
takes what is newer and leaves out what it knows already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias
from uuid import UUID

from headrace.cluster.config_owners import ConfigOwner, OwnerKind, broker_owner, topic_owner
from headrace.cluster.topic_names import collision_key

NO_CONTROLLER: Final = -1
CORDONED_LOG_DIRS: Final = "cordoned.log.dirs"
ALL_LOG_DIRS: Final = "*"
NO_FEATURES_EPOCH: Final = -1
NO_NODE: Final = -1
"""The version of a node that is not there."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a listener is reached from outside."""

    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A live broker. A higher epoch is a later start of the same id.

    `directories` are the ids of its log directories. Two registrations that share them are of one
    broker, for a directory is locked by the process that uses it; paths would not do, they are the
    same on every machine.
    """

    id: int
    endpoints: dict[str, Endpoint]
    rack: str | None = None
    epoch: int = 0
    directories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """Who holds a partition and who leads it. The first replica is the preferred leader.

    While a partition moves, `replicas` are those that it shall have, then those that it had;
    `adding` are the new ones among them, `removing` those that will leave (KIP-455).
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas when nothing moves any more."""
        if not self.removing:
            return self.replicas
        return tuple(broker for broker in self.replicas if broker not in self.removing)


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic; the index in `partitions` is the partition's number.

    `version` is that of the topic's node, which says how many partitions there are and who has
    replicas of them; leaders and ISRs have nodes of their own.
    """

    name: str
    id: UUID
    partitions: list[PartitionImage]
    version: int = 0


@dataclass(frozen=True, slots=True)
class BrokerRegistered:
    broker: BrokerRegistration


@dataclass(frozen=True, slots=True)
class BrokerUnregistered:
    broker_id: int


@dataclass(frozen=True, slots=True)
class BrokerStarted:
    """A broker has begun a life with this epoch. It is not registered yet, and its last life is
    over, though the session of that may not have expired.
    """

    broker_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ControllerChanged:
    """Another broker, or none, has become the controller."""

    controller_id: int


@dataclass(frozen=True, slots=True)
class ControllerEpochChanged:
    """There has been another election of a controller."""

    epoch: int


@dataclass(frozen=True, slots=True)
class TopicCreated:
    """`config_version` is NO_NODE if the topic's settings have not been heard of yet."""

    topic: TopicImage
    configs: dict[str, str] = field(default_factory=dict)
    config_version: int = 0


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    topic: TopicImage


@dataclass(frozen=True, slots=True)
class PartitionsAdded:
    """`topic` is the whole topic as it is afterwards; the first `existing` partitions are old."""

    topic: TopicImage
    existing: int


@dataclass(frozen=True, slots=True)
class PartitionChanged:
    """Leader, ISR or replicas of one partition; its partition epoch is higher than before.

    `topic_version` is that of the topic's node if it was read with the state. A decision of our own
    leaves it open: all changes of replicas that are written together make the next one.
    """

    topic: str
    partition: int
    image: PartitionImage
    topic_version: int | None = None


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """All settings of an owner from now on; those that are not here are gone.

    `version` is that of the node that says so. A decision of our own leaves it open: it makes the
    next one.
    """

    owner: ConfigOwner
    configs: dict[str, str]
    version: int | None = None


@dataclass(frozen=True, slots=True)
class FeaturesChanged:
    """The levels of all features from now on; the epoch is higher than before."""

    levels: dict[str, int]
    epoch: int


Change: TypeAlias = (
    BrokerRegistered
    | BrokerUnregistered
    | BrokerStarted
    | ControllerChanged
    | ControllerEpochChanged
    | TopicCreated
    | TopicDeleted
    | PartitionsAdded
    | PartitionChanged
    | ConfigChanged
    | FeaturesChanged
)
Changes: TypeAlias = list[Change]


@dataclass(slots=True)
class ClusterImage:
    """Everything that is known of the cluster."""

    cluster_id: str
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    broker_epochs: dict[int, int] = field(default_factory=dict)
    topics: dict[str, TopicImage] = field(default_factory=dict)
    topic_names: dict[UUID, str] = field(default_factory=dict)
    configs: dict[OwnerKind, dict[str, dict[str, str]]] = field(
        default_factory=lambda: {kind: {} for kind in OwnerKind}
    )
    """By the names of the owners of each kind; an owner without settings takes no room."""
    config_versions: dict[ConfigOwner, int] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    features_epoch: int = NO_FEATURES_EPOCH
    cordoned: frozenset[int] = frozenset()
    """Brokers that are known here to have cordoned every folder they have, each by its name."""
    _collisions: dict[str, str] = field(default_factory=dict)

    def config_of(self, owner: ConfigOwner) -> Mapping[str, str]:
        """The settings that an owner has of its own."""
        return self.configs[owner.kind].get(owner.name, {})

    def is_cordoned(self, broker_id: int) -> bool:
        """Whether a broker gets no new replicas, since all its folders are cordoned (KIP-1066)."""
        configs = self.config_of(broker_owner(broker_id))
        return broker_id in self.cordoned or configs.get(CORDONED_LOG_DIRS) == ALL_LOG_DIRS

    def placeable_racks(self) -> dict[int, str | None]:
        """The brokers that may get new replicas, with their racks."""
        return {
            broker.id: broker.rack
            for broker in self.brokers.values()
            if not self.is_cordoned(broker.id)
        }

    def colliding_topic(self, name: str) -> str | None:
        """The existing topic, if any, whose name differs only in '.' and '_'."""
        return self._collisions.get(collision_key(name))

    def feature_level(self, name: str) -> int:
        """The level of a feature that the cluster has agreed on; 0 is off."""
        return self.features.get(name, 0)

    def partition(self, topic: str, partition: int) -> PartitionImage | None:
        """One partition, or None if the topic or the partition is unknown."""
        image = self.topics.get(topic)
        if image is None or not 0 <= partition < len(image.partitions):
            return None
        return image.partitions[partition]

    def apply(self, changes: Iterable[Change]) -> None:
        """Make the changes true; what is not newer than what is known changes nothing.

        Changes that were written in one transaction are applied in one call.
        """
        rewritten: set[str] = set()
        for change in changes:
            if isinstance(change, PartitionChanged):
                self._put_partition(change, rewritten)
            else:
                if isinstance(change, PartitionsAdded):
                    rewritten.add(change.topic.name)
                self._apply_one(change)

    def _apply_one(self, change: Change) -> None:
        match change:
            case TopicCreated(topic, configs, config_version):
                if topic.id not in self.topic_names:
                    self._put_topic(topic)
                    self._put_config(topic_owner(topic.name), configs, config_version)
            case TopicDeleted(topic):
                self._drop_topic(topic)
            case PartitionsAdded(topic, existing):
                self._put_partitions(topic, existing)
            case ConfigChanged(owner, configs, version):
                self._put_config(owner, configs, version)
            case FeaturesChanged(levels, epoch):
                if epoch > self.features_epoch:
                    self.features, self.features_epoch = dict(levels), epoch
            case BrokerRegistered(broker):
                if broker.epoch >= self.broker_epochs.get(broker.id, 0):
                    self.brokers[broker.id] = broker
            case BrokerStarted(broker_id, epoch):
                self._begin_life(broker_id, epoch)
            case BrokerUnregistered(broker_id):
                self.brokers.pop(broker_id, None)
            case ControllerChanged(controller_id):
                self.controller_id = controller_id
            case ControllerEpochChanged(epoch):
                self.controller_epoch = max(self.controller_epoch, epoch)

    def _begin_life(self, broker_id: int, epoch: int) -> None:
        if epoch > self.broker_epochs.get(broker_id, NO_NODE):
            self.broker_epochs[broker_id] = epoch
            registered = self.brokers.get(broker_id)
            if registered is not None and registered.epoch < epoch:
                del self.brokers[broker_id]

    def _put_topic(self, topic: TopicImage) -> None:
        before = self.topics.get(topic.name)
        if before is not None:
            self._drop_topic(before)
        # The list is ours alone from here on: other images may be told of the same change.
        self.topics[topic.name] = replace(topic, partitions=list(topic.partitions))
        self.topic_names[topic.id] = topic.name
        self._collisions[collision_key(topic.name)] = topic.name

    def _drop_topic(self, topic: TopicImage) -> None:
        before = self.topics.get(topic.name)
        if before is None or before.id != topic.id:
            return
        del self.topics[topic.name]
        del self.topic_names[topic.id]
        # Topics adopted from a disk may collide; the key may belong to the other one.
        if self.colliding_topic(topic.name) == topic.name:
            del self._collisions[collision_key(topic.name)]
        self.configs[OwnerKind.TOPIC].pop(topic.name, None)
        self.config_versions.pop(topic_owner(topic.name), None)

    def _put_partitions(self, topic: TopicImage, existing: int) -> None:
        """The new ones alone: an old one may have changed since the topic was read."""
        before = self.topics.get(topic.name)
        if before is None or before.id != topic.id or len(before.partitions) != existing:
            return
        partitions = [*before.partitions, *topic.partitions[existing:]]
        version = max(before.version, topic.version)
        self.topics[topic.name] = replace(topic, partitions=partitions, version=version)

    def _put_partition(self, change: PartitionChanged, rewritten: set[str]) -> None:
        before, after = self.partition(change.topic, change.partition), change.image
        if before is None:
            return
        topic = self.topics[change.topic]
        version = change.topic_version
        is_newer = after.partition_epoch > before.partition_epoch
        if version is None and is_newer and not same_assignment(before, after):
            version = topic.version + (change.topic not in rewritten)
            rewritten.add(change.topic)
        if version is not None and version > topic.version:
            topic = self.topics[change.topic] = replace(topic, version=version)
        # A change of replicas is in two nodes, which may have been read at different moments.
        is_completed = after.partition_epoch == before.partition_epoch and version == topic.version
        if is_newer or is_completed:
            topic.partitions[change.partition] = after

    def _put_config(self, owner: ConfigOwner, configs: dict[str, str], version: int | None) -> None:
        known = self.config_versions.get(owner, NO_NODE)
        if version is None and configs:
            for parent in owner.parents:
                self.config_versions.setdefault(parent, 0)
        elif version is None and self.is_removed_without_configs(owner):
            version = NO_NODE
        if version is None:
            version = known + 1
        elif version != NO_NODE and version <= known:
            return
        if version == NO_NODE:
            self.config_versions.pop(owner, None)
        else:
            self.config_versions[owner] = version
        if configs:
            self.configs[owner.kind][owner.name] = dict(configs)
        else:
            self.configs[owner.kind].pop(owner.name, None)

    def is_removed_without_configs(self, owner: ConfigOwner) -> bool:
        """Whether the node goes with the last setting: that of a user stays for what is below."""
        return owner.kind.is_transient and owner.room_below not in self.config_versions


def changes_broker_configs(changes: Iterable[Change]) -> bool:
    """Whether settings of brokers are among what has changed."""
    return any(
        isinstance(each, ConfigChanged) and each.owner.kind is OwnerKind.BROKER for each in changes
    )


def same_assignment(one: PartitionImage, other: PartitionImage) -> bool:
    """Whether the topic's node says the same of both."""
    return (
        one.replicas == other.replicas
        and one.adding == other.adding
        and one.removing == other.removing
    )
