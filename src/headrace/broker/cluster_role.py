"""What a broker has only as one of several: peers, fetchers, in-sync replicas, a controller.

A broker without ZooKeeper has none of this and pays for none of it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from headrace.broker.membership.controller import Controller
from headrace.broker.membership.full_disks import FullDisks
from headrace.broker.membership.isr import IsrKeeper
from headrace.broker.membership.membership import Membership
from headrace.broker.membership.node import registration
from headrace.broker.net.dialling import PeerSettings
from headrace.broker.net.peers import Peers
from headrace.broker.storage.fetchers import ReplicaFetchers
from headrace.broker.storage.replication_throttle import ReplicationThrottle
from headrace.broker.transactions.remote import RemoteTransactions
from headrace.broker.watching import logs
from headrace.cluster.partitions import replicas_lost
from headrace.errors import HeadraceError
from headrace.types import TopicPartition

if TYPE_CHECKING:
    from headrace.broker.machine import Machine
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.membership.node import LocalNode
    from headrace.broker.membership.session import TreeSession
    from headrace.broker.net.listener import Listener
    from headrace.broker.storage.storage import Storage
    from headrace.broker.transactions.markers import Markers
    from headrace.broker.transactions.transactions import Transactions
    from headrace.cluster.broker_config import BrokerConfig

_RETRY_S: Final = 1.0
# A namesake that died without a word is gone after its session time-out, give or take a tick.
_PATIENCE_SLACK_MS: Final = 5_000


class ClusterRole:
    """The parts, and the order in which they start and stop."""

    def __init__(
        self,
        config: BrokerConfig,
        node: LocalNode,
        session: TreeSession,
        metadata: Metadata,
        storage: Storage,
        machine: Machine,
        listeners: list[Listener],
    ) -> None:
        clock = machine.clock
        self.peers = Peers(
            node.broker_id, lambda: metadata.image, PeerSettings.of(config), machine.connect
        )
        self.isr = IsrKeeper(
            metadata,
            storage,
            clock,
            lambda: metadata.settings.config.get_int("replica.lag.time.max.ms"),
        )
        self.throttle = ReplicationThrottle("leader", node.broker_id, lambda: metadata.image)
        self._node = node
        self._patience_ms = config.get_int("zookeeper.session.timeout.ms") + _PATIENCE_SLACK_MS
        self._metadata = metadata
        self._storage = storage
        self._machine = machine
        self._membership = Membership(
            session,
            metadata,
            clock,
            broker_id=node.broker_id,
            open_tree=node.open_tree,
            registration=lambda epoch: registration(config, node, listeners, epoch),
            patience_ms=self._patience_ms,
        )
        self.controller = Controller(node.broker_id, session, metadata, clock)
        self._full_disks = FullDisks(node.broker_id, metadata, storage, self.peers)
        self._fetchers: ReplicaFetchers | None = None
        self._lost: set[asyncio.Task[None]] = set()

    async def join(self) -> None:
        """Become a member of the cluster; the logs are loaded, and serve nobody yet."""
        metadata, storage = self._metadata, self._storage
        await self._membership.join()
        for stray in storage.remove_strays(metadata.image):
            logs.LOG_MANAGER.warning("Deleting %s, which is not on this broker any more", stray)
        self._fetchers = ReplicaFetchers(
            self._node.broker_id,
            self._membership.epoch,
            self.peers,
            storage,
            self._machine,
            lambda: metadata.settings.config,
        )
        metadata.watchers.append(self._fetchers.on_changes)
        self._membership.on_joined.append(self._fetchers.rejoin)
        self._membership.on_joined.append(lambda _: self.controller.on_session())
        self._membership.on_lost.append(self.controller.on_session_lost)
        storage.fetchers = self._fetchers
        storage.on_lost = self._give_up
        storage.on_full = self._full_disks.on_full

    def ask_others(self, transactions: Transactions, markers: Markers) -> RemoteTransactions:
        return RemoteTransactions(self.peers, self._storage, transactions, markers.guards)

    def start(self) -> None:
        """Follow the tree and stand for election: the replicas that are here serve by now."""
        self._membership.follow()
        self.controller.start()
        self.isr.start()
        if self._storage.unserved:
            self._give_up([TopicPartition(*key) for key in self._storage.unserved])

    def _give_up(self, partitions: list[TopicPartition]) -> None:
        """Replicas that cannot be served here: let others lead them."""
        task = asyncio.get_running_loop().create_task(self._tell_lost(partitions))
        self._lost.add(task)
        task.add_done_callback(self._lost.discard)

    async def _tell_lost(self, partitions: list[TopicPartition]) -> None:
        while True:
            try:
                await self._metadata.change(
                    lambda image: replicas_lost(
                        image, self._node.broker_id, partitions, self.controller.policy
                    )
                )
                return
            except HeadraceError as fault:
                logs.LOG_MANAGER.warning("Lost replicas could not be reported: %s", fault)
                await asyncio.sleep(_RETRY_S)

    # -- leaving ----------------------------------------------------------------------------------

    async def hand_over(self) -> None:
        """Stop to lead and to follow, while connections are still served.

        Who follows no more is awaited by its leaders until it has left the in-sync replicas, and
        who is still registered may be taken in again: one goes right after the other.
        """
        config = self._metadata.settings.config
        for task in self._lost:
            task.cancel()
        self._full_disks.stop()
        await self.isr.stop()
        if self._fetchers is not None:
            await self._fetchers.stop()
        try:
            async with asyncio.timeout(self._patience_ms / 1000):
                if config.get_bool("controlled.shutdown.enable"):
                    await self._membership.hand_over(
                        tries=config.get_int("controlled.shutdown.max.retries"),
                        pause_ms=config.get_int("controlled.shutdown.retry.backoff.ms"),
                    )
                await self.controller.stop()
                await self._membership.unregister()
        except TimeoutError:
            logs.SERVER.warning(
                "The cluster could not be notified; it notices when the session ends"
            )

    async def leave(self) -> None:
        """The logs are closed: tell the cluster that this broker is gone."""
        await self.peers.close()
        await self._membership.leave()
