"""The two replication quotas of this broker: what it serves to lagging replicas, what it fetches.

The rate is a setting of the broker, the replicas that it holds for are a setting of each topic
(KIP-73). Both are read from the image, so that a change holds from the next fetch on. How a rate is
measured is known by `headrace.replica.quota`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from headrace.cluster.config_owners import ALL_BROKERS, OwnerKind, broker_owner
from headrace.replica.quota import UNLIMITED, ReplicationQuota, ThrottledReplicas

if TYPE_CHECKING:
    from headrace.cluster.image import ClusterImage
    from headrace.types import TopicPartition


class ReplicationThrottle:
    """One side of replication on this broker."""

    def __init__(
        self,
        side: Literal["leader", "follower"],
        broker_id: int,
        image: Callable[[], ClusterImage],
    ) -> None:
        self._rate_key = f"{side}.replication.throttled.rate"
        self._replicas_key = f"{side}.replication.throttled.replicas"
        self._broker = broker_owner(broker_id)
        self._image = image
        self._quota = ReplicationQuota()

    @property
    def is_set(self) -> bool:
        """Whether there is a limit at all; without one nothing else here costs anything."""
        image = self._image()
        if not image.configs[OwnerKind.BROKER]:
            return False
        text = image.config_of(self._broker).get(self._rate_key)
        text = text or image.config_of(ALL_BROKERS).get(self._rate_key)
        self._quota.bytes_per_second = int(text) if text else UNLIMITED
        return text is not None

    def covers(self, partition: TopicPartition, broker_id: int) -> bool:
        """Whether the replica of this broker is on the topic's list."""
        configs = self._image().configs[OwnerKind.TOPIC].get(partition.topic)
        listed = configs.get(self._replicas_key) if configs else None
        return bool(listed) and _parse(listed).covers(partition.partition, broker_id)

    def allows(self, now_ms: int) -> bool:
        """Whether replicas on the list may have more now."""
        return not self.is_set or self._quota.allows(now_ms)

    def record(self, size: int, now_ms: int) -> None:
        """So many bytes were copied for replicas on the list."""
        self._quota.record(size, now_ms)


@lru_cache(maxsize=1024)
def _parse(text: str) -> ThrottledReplicas:
    try:
        return ThrottledReplicas(text)
    except ValueError:
        return ThrottledReplicas()  # The setting was refused where it was made; nobody is listed.
