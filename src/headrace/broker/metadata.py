"""This broker's view of the cluster, and the way changes become true.

A change is decided on the image, written to the tree in one transaction (in a thread, because a
tree may be slow), then applied to the image and followed by the local logs. Changes are made one
after the other, so a decision is never made on an image that another one is about to change.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from headrace.broker import logs
from headrace.cluster import layout
from headrace.cluster.configs import topic_log_config
from headrace.cluster.image import (
    BrokerConfigChanged,
    Change,
    ClusterImage,
    PartitionsAdded,
    TopicConfigChanged,
    TopicCreated,
    TopicDeleted,
    TopicImage,
)
from headrace.cluster.store import ops_for
from headrace.coordination.tree import Create, Delete, Op, Tree
from headrace.errors import ClientFault
from headrace.log import LogConfig

if TYPE_CHECKING:
    from headrace.broker.storage import Storage
    from headrace.cluster.broker_config import BrokerConfig

_LOG_SETTINGS = frozenset(field.name for field in dataclasses.fields(LogConfig))

Decision = Callable[[ClusterImage], Sequence[Change]]
"""Reads the image and returns what shall change; it runs while nothing else can change it."""


class Metadata:
    """The image, its tree, and the logs that follow it."""

    def __init__(
        self,
        broker_id: int,
        tree: Tree,
        image: ClusterImage,
        config: BrokerConfig,
        storage: Storage,
        executor: Executor,
        *,
        controller_epoch: int,
    ) -> None:
        self.image = image
        self._broker_id = broker_id
        self._tree = tree
        self._static_config = config
        self._storage = storage
        self._executor = executor
        self._controller_epoch = controller_epoch
        self._changing = asyncio.Lock()
        self._default_log_config: LogConfig | None = None
        # Told of changes after they have become true here.
        self.watchers: list[Callable[[Sequence[Change]], None]] = []
        self.topics_epoch = 0  # grows when a topic comes, grows or goes
        self._refresh_config()

    def _refresh_config(self) -> None:
        self.config = self._static_config.with_dynamic(
            self.image.broker_configs.get(self._broker_id, {}), self.image.cluster_default_config
        )
        self._default_log_config = None

    # -- changes ----------------------------------------------------------------------------------

    async def change(self, decide: Decision) -> Sequence[Change]:
        """Make a decision true everywhere, or raise what `decide` or the tree raises."""
        async with self._changing:
            changes = decide(self.image)
            if changes:
                await self._commit(changes)
            return changes

    async def _commit(self, changes: Sequence[Change]) -> None:
        ops: list[Op] = list(ops_for(changes, controller_epoch=self._controller_epoch))
        deleted = [change.topic for change in changes if isinstance(change, TopicDeleted)]
        # A deleted topic's folders must not be adopted after a crash: see decision 0003.
        ops += [Create(layout.deleted_topic_path(topic.name)) for topic in deleted]
        await self._in_tree(self._tree.multi, ops)
        self.image.apply(changes)
        for change in changes:
            self._follow(change)
            if isinstance(change, TopicCreated | TopicDeleted | PartitionsAdded):
                self.topics_epoch += 1
        for watcher in self.watchers:
            watcher(changes)
        if deleted:
            done = [Delete(layout.deleted_topic_path(topic.name)) for topic in deleted]
            await self._in_tree(self._tree.multi, done)

    async def _in_tree(self, call: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call, *args)

    # -- what follows from them here --------------------------------------------------------------

    def _follow(self, change: Change) -> None:
        match change:
            case TopicCreated(topic, _):
                self.lead_topic(topic)
                logs.CONTROLLER.info(
                    "Created topic %s with %d partitions", topic.name, len(topic.partitions)
                )
            case TopicDeleted(topic):
                self._storage.remove_topic(topic.name, len(topic.partitions))
                logs.CONTROLLER.info("Deleted topic %s", topic.name)
            case PartitionsAdded(topic, existing):
                self.lead_topic(topic, existing)
            case TopicConfigChanged(name, _):
                self._configure(name)
            case BrokerConfigChanged():
                self._refresh_config()
                for name in self.image.topics:
                    self._configure(name)
            case _:
                pass

    def lead_topic(self, topic: TopicImage, first: int = 0) -> None:
        """Open or create the logs of a topic's partitions that live here."""
        config = self.log_config(topic.name)
        for index in range(first, len(topic.partitions)):
            partition = topic.partitions[index]
            if self._broker_id in partition.replicas:
                try:
                    self._storage.lead(topic, index, partition, config)
                except (OSError, ClientFault) as fault:
                    # The cluster knows the partition; here it is offline until a disk is mended.
                    self._storage.unserved[topic.name, index] = str(fault)
                    logs.LOG_MANAGER.error("%s-%d has no log: %s", topic.name, index, fault)

    def _configure(self, name: str) -> None:
        config = self.log_config(name)
        for index in range(len(self.image.topics[name].partitions)):
            partition = self._storage.partitions.get((name, index))
            if partition is not None:
                partition.log.config = config

    def log_config(self, topic: str) -> LogConfig:
        """The settings of a topic's logs: its own, over the broker's, over the defaults."""
        overrides = self.image.topic_configs.get(topic)
        if not overrides:
            # Most topics have no settings of their own and share one object.
            if self._default_log_config is None:
                self._default_log_config = self._build_log_config({})
            return self._default_log_config
        return self._build_log_config(overrides)

    def _build_log_config(self, overrides: Mapping[str, str]) -> LogConfig:
        values = topic_log_config(overrides, self.config)
        known = {name: value for name, value in values.items() if name in _LOG_SETTINGS}
        known["cleanup_policy"] = tuple(known["cleanup_policy"])
        known["producer_id_expiration_ms"] = self.config.get_int("producer.id.expiration.ms")
        return LogConfig(**known)
