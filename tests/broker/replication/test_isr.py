"""In-sync replicas on a real tree: who joins, who leaves, and what if the tree does not answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from headrace.broker.membership.isr import IsrKeeper
from headrace.broker.membership.metadata import Metadata
from headrace.broker.membership.session import TreeSession
from headrace.broker.storage.storage import Storage
from headrace.cluster import store
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.image import (
    BrokerRegistered,
    BrokerRegistration,
    Endpoint,
    PartitionChanged,
    PartitionImage,
    TopicCreated,
    TopicImage,
)
from headrace.cluster.writing import ops_for
from headrace.coordination.memory import MemoryStore, MemoryTree
from headrace.coordination.tree import Op, OutcomeUnknown
from headrace.log.directory import LogDirectory
from headrace.replica.leadership import ReplicaFetch
from headrace.replica.partition import Partition
from headrace.runtime.os_disk import OsDisk
from headrace.testing import VirtualClock
from tests.broker.replication.fake_broker import run
from tests.broker.replication.nodes import until
from tests.log.logs import NOW_MS, batch

LAG_MS = 200


class DeafTree:
    """A session whose next write may get lost, with or without its effect."""

    def __init__(self, tree: MemoryTree) -> None:
        self._tree = tree
        self.faults: list[bool] = []  # for each write to come: whether it happens nevertheless

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)

    def multi(self, ops: Sequence[Op]) -> None:
        if self.faults:
            if self.faults.pop(0):
                self._tree.multi(ops)
            raise OutcomeUnknown("/", "the connection was lost")
        self._tree.multi(ops)


@dataclass
class Shop:
    """The leader's side: broker 1 leads, 2 and 3 are said to fetch."""

    metadata: Metadata
    storage: Storage
    keeper: IsrKeeper
    clock: VirtualClock
    tree: DeafTree

    async def create(
        self, name: str, isr: Sequence[int], replicas: Sequence[int] = (1, 2, 3)
    ) -> Partition:
        image = PartitionImage(tuple(replicas), tuple(isr), 1, 0, 0)
        topic = TopicImage(name, uuid4(), [image])
        await self.metadata.change(lambda _: [TopicCreated(topic)])
        return self.storage.partitions[name, 0]

    def fetch(self, partition: Partition, broker_id: int, *, epoch: int | None = None) -> None:
        """A follower that has everything fetches."""
        read = partition.read_for_replica(
            ReplicaFetch(broker_id, epoch or broker_id, partition.log.log_end_offset, -1, 0),
            1000,
            at_least_one=False,
            now_ms=self.clock.monotonic_ms(),
        )
        if read.can_join:
            self.keeper.nudge(partition)

    def in_tree(self, name: str) -> PartitionImage:
        known = store.load_image(self.tree._tree).partition(name, 0)
        assert known is not None
        return known


@asynccontextmanager
async def shop(folder: Path) -> AsyncIterator[Shop]:
    tree = DeafTree(MemoryStore().session())
    store.initialize(tree, lambda: "cluster")
    for broker_id in (1, 2, 3):
        endpoints = {"PLAINTEXT": Endpoint("127.0.0.1", 9000 + broker_id)}
        broker = BrokerRegistration(broker_id, endpoints, None, broker_id, (f"d{broker_id}",))
        store.register(tree, broker, 0)
    clock = VirtualClock()
    directory = LogDirectory.open(
        OsDisk(), str(folder), cluster_id="c", node_id=1, uuid_factory=uuid4
    )
    with ThreadPoolExecutor(1) as executor:
        loop = asyncio.get_running_loop()
        storage = Storage([directory], clock, loop, executor, broker_id=1)
        metadata = Metadata(
            1,
            TreeSession(tree, executor),
            store.load_image(tree),
            BrokerConfig({}),
            storage,
            in_cluster=True,
        )
        directory.load(metadata.settings.log_config, 0)
        metadata.serve()
        keeper = IsrKeeper(metadata, storage, clock, lambda: LAG_MS)
        keeper.start()
        try:
            yield Shop(metadata, storage, keeper, clock, tree)
        finally:
            await keeper.stop()
            await storage.drain()
            directory.close()


def write(partition: Partition) -> None:
    partition.append(batch(), acks=1, now_ms=NOW_MS)


@pytest.mark.spec("slides:B17", "admin:RC-12", "admin:RC-13")
def test_a_follower_that_caught_up_joins_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A fetch at the log's end brings a follower into the tree's in-sync replicas."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            partition = await here.create("orders", [1])
            write(partition)
            here.fetch(partition, 2)
            await until(lambda: partition.leadership.isr == (1, 2))
            here.fetch(partition, 3)
            await until(lambda: partition.leadership.isr == (1, 2, 3))
            assert here.in_tree("orders").isr == (1, 2, 3)
            assert here.in_tree("orders").leader_epoch == 0, "no election"
            assert partition.leadership.partition_epoch == 2

    with caplog.at_level(logging.INFO, "kafka"):
        run(story())
    told = [each.getMessage() for each in caplog.records]
    assert "[Partition orders-0 broker=1] Expanding ISR from 1 to 1,2" in told
    assert "[Partition orders-0 broker=1] ISR updated to 1,2 and version updated to 1" in told


def test_followers_of_many_partitions_join_in_one_commit(tmp_path: Path) -> None:
    """What a moment brings is written together."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            partitions = [await here.create(f"topic-{number}", [1, 2]) for number in range(20)]
            writes: list[int] = []
            here.metadata.watchers.append(lambda changes: writes.append(len(changes)))
            for partition in partitions:
                here.fetch(partition, 3)
            await until(lambda: all(each.leadership.isr == (1, 2, 3) for each in partitions))
            assert writes == [20]

    run(story())


@pytest.mark.spec("slides:B07", "admin:RC-12")
def test_a_follower_that_lags_leaves(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """After replica.lag.time.max.ms without catching up a follower is out, and commits go on."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            partition = await here.create("orders", [1, 2, 3])
            here.fetch(partition, 3)
            write(partition)
            here.clock.advance(LAG_MS + 1)
            here.fetch(partition, 2)
            assert partition.high_watermark == 0
            await until(lambda: partition.leadership.isr == (1, 2))
            assert partition.high_watermark == 1
            assert here.in_tree("orders").isr == (1, 2)

    with caplog.at_level(logging.INFO, "kafka"):
        run(story())
    assert any(
        "Shrinking ISR from 1,2,3 to 1,2. Leader: (highWatermark: 0, endOffset: 1). "
        "Out of sync replicas: (brokerId: 3, endOffset: 0, lastCaughtUpTimeMs:"
        in record.getMessage()
        for record in caplog.records
    )


def test_an_earlier_life_of_a_broker_does_not_join(tmp_path: Path) -> None:
    """A follower whose broker has registered anew since it fetched stays outside."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            partition = await here.create("orders", [1])
            here.fetch(partition, 2, epoch=2)
            born_again = replace(here.metadata.image.brokers[2], epoch=9)
            await here.metadata.learn([BrokerRegistered(born_again)])
            await asyncio.sleep(0.05)
            assert partition.leadership.isr == (1,)
            here.fetch(partition, 2, epoch=9)
            await until(lambda: partition.leadership.isr == (1, 2))

    run(story())


@pytest.mark.parametrize("happened", [True, False], ids=["happened", "did not happen"])
def test_an_unanswered_write_is_found_out(tmp_path: Path, happened: bool) -> None:
    """If the tree's answer is lost, both outcomes count until it is known which is true."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            partition = await here.create("orders", [1])
            here.tree.faults = [happened]
            write(partition)
            here.fetch(partition, 2)
            await until(lambda: partition.leadership.isr == (1, 2))
            assert not here.tree.faults
            assert here.in_tree("orders").isr == (1, 2)
            assert partition.leadership.partition_epoch == 1, "written once"

    run(story())


def test_a_change_of_others_is_not_undone(tmp_path: Path) -> None:
    """The controller was faster: what it wrote stays, and the leader looks again."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            partition = await here.create("orders", [1, 2])
            known = here.in_tree("orders")
            other = replace(known, isr=(1,), partition_epoch=1)
            change = PartitionChanged("orders", 0, other)
            # Another broker writes; this one has not heard of it when its follower catches up.
            here.tree._tree.multi(store_ops(here, change))
            here.fetch(partition, 3)
            await until(lambda: partition.leadership.isr == (1, 3))
            assert here.in_tree("orders").isr == (1, 3)

    run(story())


def test_a_deposed_leader_changes_nothing(tmp_path: Path) -> None:
    """Another broker leads by now: the former leader's wish is dropped."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            partition = await here.create("orders", [1, 2])
            elected = replace(
                here.in_tree("orders"), leader=2, leader_epoch=1, isr=(2,), partition_epoch=1
            )
            here.tree._tree.multi(store_ops(here, PartitionChanged("orders", 0, elected)))
            here.fetch(partition, 3)
            await until(lambda: not partition.is_leader)
            await asyncio.sleep(0.03)
            assert here.in_tree("orders") == elected

    run(story())


def store_ops(here: Shop, change: PartitionChanged) -> Sequence[Op]:
    """What another broker would write."""
    return ops_for(store.load_image(here.tree._tree), [change])
