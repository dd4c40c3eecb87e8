"""The cluster as one broker knows it: brokers, topics, partitions and dynamic settings.

The image is mutable and belongs to one thread, the broker's event loop: a handler reads it without
an `await` in between, so it never sees half a change, and a change costs what it touches instead of
a copy of ten thousand topics. A `PartitionImage` is a value that is replaced, so whoever keeps one
keeps what was true when it was read. `apply` is the only mutator, live and at load.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar
from uuid import UUID

from headrace.cluster.topic_names import collision_key
from headrace.errors import InvariantViolated

Key = TypeVar("Key")

NO_LEADER: Final = -1
NO_CONTROLLER: Final = -1
NO_FEATURES_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a listener is reached from outside."""

    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A live broker. A higher epoch is a later start of the same id."""

    id: int
    endpoints: dict[str, Endpoint]
    rack: str | None = None
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """Who holds a partition and who leads it. The first replica is the preferred leader."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic; the index in `partitions` is the partition's number."""

    name: str
    id: UUID
    partitions: list[PartitionImage]


@dataclass(frozen=True, slots=True)
class BrokerRegistered:
    broker: BrokerRegistration


@dataclass(frozen=True, slots=True)
class BrokerUnregistered:
    broker_id: int


@dataclass(frozen=True, slots=True)
class ControllerChanged:
    """Another broker, or none, has become the controller."""

    controller_id: int


@dataclass(frozen=True, slots=True)
class TopicCreated:
    topic: TopicImage
    configs: dict[str, str] = field(default_factory=dict)


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
    """Leader, ISR or replicas of one partition; its partition epoch is one higher than before."""

    topic: str
    partition: int
    image: PartitionImage


@dataclass(frozen=True, slots=True)
class TopicConfigChanged:
    """All overrides of a topic from now on; those that are not here are gone."""

    topic: str
    configs: dict[str, str]


@dataclass(frozen=True, slots=True)
class BrokerConfigChanged:
    """All dynamic settings of a broker, or of every broker if `broker_id` is None."""

    broker_id: int | None
    configs: dict[str, str]


@dataclass(frozen=True, slots=True)
class GroupConfigChanged:
    """All settings of a group from now on; `is_first` if it had none before.

    A group may have settings before it has members, and after it has none any more.
    """

    group: str
    configs: dict[str, str]
    is_first: bool


@dataclass(frozen=True, slots=True)
class FeaturesChanged:
    """The levels of all features from now on; the epoch is one higher than before."""

    levels: dict[str, int]
    epoch: int


Change: TypeAlias = (
    BrokerRegistered
    | BrokerUnregistered
    | ControllerChanged
    | TopicCreated
    | TopicDeleted
    | PartitionsAdded
    | PartitionChanged
    | TopicConfigChanged
    | BrokerConfigChanged
    | GroupConfigChanged
    | FeaturesChanged
)
Changes: TypeAlias = list[Change]


@dataclass(slots=True)
class ClusterImage:
    """Everything that is known of the cluster."""

    cluster_id: str
    controller_id: int = NO_CONTROLLER
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    topics: dict[str, TopicImage] = field(default_factory=dict)
    topic_names: dict[UUID, str] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: dict[int, dict[str, str]] = field(default_factory=dict)
    cluster_default_config: dict[str, str] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    features_epoch: int = NO_FEATURES_EPOCH
    _collisions: dict[str, str] = field(default_factory=dict)

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
        """Make the changes true."""
        for change in changes:
            self._apply_one(change)

    def _apply_one(self, change: Change) -> None:
        match change:
            case TopicCreated(topic, configs):
                self._put_topic(topic)
                _put(self.topic_configs, topic.name, configs)
            case TopicDeleted(topic):
                del self.topics[topic.name]
                del self.topic_names[topic.id]
                # Topics adopted from a disk may collide; the key may belong to the other one.
                if self.colliding_topic(topic.name) == topic.name:
                    del self._collisions[collision_key(topic.name)]
                self.topic_configs.pop(topic.name, None)
            case PartitionsAdded(topic, _):
                self._put_topic(topic)
            case PartitionChanged(name, partition, image):
                self._put_partition(name, partition, image)
            case TopicConfigChanged(name, configs):
                _put(self.topic_configs, name, configs)
            case BrokerConfigChanged(None, configs):
                self.cluster_default_config = dict(configs)
            case BrokerConfigChanged(int() as broker_id, configs):
                _put(self.broker_configs, broker_id, configs)
            case GroupConfigChanged(group, configs):
                _put(self.group_configs, group, configs)
            case FeaturesChanged(levels, epoch):
                self._put_features(levels, epoch)
            case BrokerRegistered(broker):
                self.brokers[broker.id] = broker
            case BrokerUnregistered(broker_id):
                self.brokers.pop(broker_id, None)
            case ControllerChanged(controller_id):
                self.controller_id = controller_id

    def _put_topic(self, topic: TopicImage) -> None:
        self.topics[topic.name] = topic
        self.topic_names[topic.id] = topic.name
        self._collisions[collision_key(topic.name)] = topic.name

    def _put_partition(self, name: str, partition: int, image: PartitionImage) -> None:
        partitions = self.topics[name].partitions
        before = partitions[partition]
        if image.partition_epoch != before.partition_epoch + 1:
            raise InvariantViolated(
                f"{name}-{partition}: partition epoch {before.partition_epoch} is followed by "
                f"{image.partition_epoch}"
            )
        partitions[partition] = image

    def _put_features(self, levels: dict[str, int], epoch: int) -> None:
        if epoch != self.features_epoch + 1:
            raise InvariantViolated(f"features: epoch {self.features_epoch} is followed by {epoch}")
        self.features, self.features_epoch = dict(levels), epoch


def _put(table: dict[Key, dict[str, str]], key: Key, configs: dict[str, str]) -> None:
    """Remember settings; a resource without any takes no room."""
    if configs:
        table[key] = dict(configs)
    else:
        table.pop(key, None)
