"""A broker joins its cluster, is its controller or not, and joins again when it was lost."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.broker.membership.controller import Controller
from headrace.broker.membership.membership import Membership
from headrace.broker.membership.metadata import Metadata
from headrace.broker.membership.session import TreeSession
from headrace.broker.storage.storage import Storage
from headrace.cluster import layout, store
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.image import BrokerRegistration, PartitionImage, TopicCreated, TopicImage
from headrace.coordination.memory import MemoryStore, MemoryTree
from headrace.errors import ConfigError
from headrace.log.directory import LogDirectory
from headrace.runtime.clock import SystemClock
from headrace.runtime.os_disk import OsDisk

_TIMEOUT_S = 20


@dataclass
class Member:
    """One broker as far as the tree is concerned."""

    broker_id: int
    shared: MemoryStore
    session: TreeSession
    metadata: Metadata
    membership: Membership
    controller: Controller

    async def join(self) -> None:
        await self.membership.join()
        self.membership.on_lost.append(self.controller.on_session_lost)
        self.membership.on_joined.append(lambda _: self.controller.on_session())
        self.metadata.serve()
        self.membership.follow()
        self.controller.start()

    async def leave(self) -> None:
        await self.controller.stop()
        await self.membership.leave()

    async def die(self) -> None:
        """Stop without a word; the tree believes in the session for a while."""
        assert self.membership._task is not None
        tasks = [*self.controller._tasks, self.membership._task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def expire(self) -> None:
        """What a broker hears that was silent for too long."""
        tree = self.session.tree
        assert isinstance(tree, MemoryTree)
        self.shared.expire_session(tree)

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Look whenever the image has changed."""
        changed = asyncio.Event()
        self.metadata.watchers.append(lambda _: changed.set())
        async with asyncio.timeout(_TIMEOUT_S):
            while not is_so():
                changed.clear()
                await changed.wait()

    def state(self, topic: str = "t") -> PartitionImage:
        return self.metadata.image.topics[topic].partitions[0]


class Town:
    """Makes members of one cluster."""

    def __init__(self, folder: Path, executor: ThreadPoolExecutor) -> None:
        self.shared = MemoryStore()
        self._folder = folder
        self._executor = executor
        self._directories: list[LogDirectory] = []
        store.initialize(self.shared.session(), lambda: "c")

    def member(self, broker_id: int, *, directory: str = "", patience_ms: int = 0) -> Member:
        clock = SystemClock()
        log_dir = LogDirectory.open(
            OsDisk(64),
            str(self._folder / uuid.uuid4().hex),
            cluster_id="c",
            node_id=broker_id,
            uuid_factory=uuid.uuid4,
        )
        self._directories.append(log_dir)
        loop = asyncio.get_running_loop()
        storage = Storage([log_dir], clock, loop, self._executor, broker_id=broker_id)
        tree = self.shared.session()
        session = TreeSession(tree, self._executor)
        metadata = Metadata(
            broker_id,
            session,
            store.load_image(tree),
            BrokerConfig({}),
            storage,
            in_cluster=True,
        )
        membership = Membership(
            session,
            metadata,
            clock,
            broker_id=broker_id,
            open_tree=self.shared.session,
            registration=lambda epoch: BrokerRegistration(
                broker_id, {}, None, epoch, (directory or f"d{broker_id}",)
            ),
            patience_ms=patience_ms,
        )
        controller = Controller(broker_id, session, metadata, clock)
        return Member(broker_id, self.shared, session, metadata, membership, controller)

    def close(self) -> None:
        for directory in self._directories:
            directory.close()


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[Town]:
    with ThreadPoolExecutor(4) as executor:
        made = Town(folder, executor)
        yield made
        made.close()


async def two_of(made: Town) -> tuple[Member, Member]:
    """Members 1 and 2, and a topic that 1 leads and 2 follows."""
    one, two = made.member(1), made.member(2)
    await one.join()
    await one.until(lambda: one.controller.held is not None)
    await two.join()
    await one.until(lambda: 2 in one.metadata.image.brokers)
    topic = TopicImage("t", uuid.uuid4(), [PartitionImage((1, 2), (1, 2), 1)])
    await one.metadata.change(lambda _: [TopicCreated(topic)])
    await two.until(lambda: "t" in two.metadata.image.topics)
    return one, two


@pytest.mark.spec("book2:J-04", "admin:RC-24", "admin:RC-27")
@pytest.mark.spec("book2:J-01")
def test_the_first_broker_is_the_controller_and_the_next_takes_over(tmp_path: Path) -> None:
    """One at a time, with an epoch that grows; the successor elects leaders for the dead one."""

    async def story() -> None:
        async with town(tmp_path) as made:
            one, two = await two_of(made)
            assert two.controller.held is None
            assert one.controller.held is not None
            await one.membership.leave()
            await two.until(lambda: two.controller.held is not None)
            assert two.controller.held is not None
            assert two.controller.held.epoch == one.controller.held.epoch + 1
            await two.until(lambda: two.state().leader == 2)
            assert (two.state().isr, two.state().leader_epoch) == ((2,), 1)
            await one.controller.stop()
            await two.leave()

    asyncio.run(story())


def test_a_broker_whose_session_is_lost_joins_again(tmp_path: Path) -> None:
    """It registers with a higher epoch, the other leads, and it is no controller any more."""

    async def story() -> None:
        async with town(tmp_path) as made:
            one, two = await two_of(made)
            epoch = one.membership.epoch
            one.expire()
            await two.until(lambda: two.controller.held is not None)
            await two.until(lambda: 1 in two.metadata.image.brokers)
            assert two.metadata.image.brokers[1].epoch > epoch
            await two.until(lambda: two.state().leader == 2)
            assert two.state().isr == (2,), "in sync is who has fetched from the new leader"
            await one.until(lambda: one.state() == two.state())
            assert one.controller.held is None
            await one.leave()
            await two.leave()

    asyncio.run(story())


def test_a_broker_that_starts_steps_down_before_it_registers(tmp_path: Path) -> None:
    """Its earlier life is still registered: it is replaced, and what it led has a new leader."""

    async def story() -> None:
        async with town(tmp_path) as made:
            one, two = await two_of(made)
            await one.die()
            again = made.member(1)
            await again.join()
            await two.until(
                lambda: two.metadata.image.brokers.get(1) == again.metadata.image.brokers[1]
            )
            await two.until(lambda: two.state().leader == 2)
            assert two.state().isr == (2,)
            # The controller was its earlier life too; whoever holds the directories may say so.
            await two.until(lambda: two.metadata.image.controller_epoch > 1)
            await again.leave()
            await two.leave()

    asyncio.run(story())


def test_an_id_that_is_taken_is_refused(tmp_path: Path) -> None:
    """Another running broker has it, with directories of its own: the remedy is told."""

    async def story() -> None:
        async with town(tmp_path) as made:
            one = made.member(1)
            await one.join()
            with pytest.raises(ConfigError, match="broker id 1 is taken by a running broker"):
                await made.member(1, directory="another").membership.join()
            assert made.shared.session().exists(layout.broker_path(1))
            await one.leave()

    asyncio.run(story())


def test_a_broker_that_leaves_hands_over_first(tmp_path: Path) -> None:
    """Controlled shutdown: the other leads before the registration is gone."""

    async def story() -> None:
        async with town(tmp_path) as made:
            one, two = await two_of(made)
            await one.membership.hand_over(tries=1, pause_ms=0)
            assert (one.state().leader, one.state().isr) == (2, (2,))
            assert made.shared.session().exists(layout.broker_path(1))
            await one.leave()
            assert not made.shared.session().exists(layout.broker_path(1))
            await two.leave()

    asyncio.run(story())
