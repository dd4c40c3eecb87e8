"""Changes by compare-and-set: two brokers on one tree, each with an image of its own."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.broker.membership.metadata import ControllerMoved, Metadata
from headrace.broker.membership.session import TreeSession
from headrace.broker.storage.storage import Storage
from headrace.cluster import layout, store
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_owners import OwnerKind, topic_owner
from headrace.cluster.controller import Controllership
from headrace.cluster.image import (
    Change,
    ClusterImage,
    ConfigChanged,
    PartitionChanged,
    PartitionImage,
    TopicCreated,
    TopicDeleted,
    TopicImage,
)
from headrace.cluster.partitions import change_isr
from headrace.coordination.memory import MemoryStore
from headrace.coordination.tree import NodeEvent, Op, OutcomeUnknown, SessionEvent, Tree
from headrace.errors import ClientFault, Error
from headrace.log.directory import LogDirectory
from headrace.runtime.clock import SystemClock
from headrace.runtime.disk import Disk
from headrace.runtime.os_disk import OsDisk
from headrace.testing.memory_disk import MemoryDisk
from tests.settings import log_config


def topic_created(name: str = "t", replicas: tuple[int, ...] = (1, 2)) -> TopicCreated:
    return TopicCreated(TopicImage(name, uuid.uuid4(), [PartitionImage(replicas, replicas, 1)]))


class Side:
    """One broker: its image, its events, its logs."""

    def __init__(self, tree: Tree, metadata: Metadata, storage: Storage) -> None:
        self.tree = tree
        self.metadata = metadata
        self.storage = storage
        self.events: list[NodeEvent] = []
        self.heard: list[Change] = []
        metadata.watchers.append(self.heard.extend)

    def on_event(self, event: NodeEvent | SessionEvent) -> None:
        if isinstance(event, NodeEvent):
            self.events.append(event)

    async def catch_up(self) -> None:
        events, self.events = self.events, []
        await self.metadata.catch_up(events)

    async def change(self, *changes: Change) -> Sequence[Change]:
        return await self.metadata.change(lambda _: changes)


@asynccontextmanager
async def two_brokers(folder: Path, disk: Disk | None = None) -> AsyncIterator[tuple[Side, Side]]:
    shared = MemoryStore()
    store.initialize(shared.session(), lambda: "c")
    sides = []
    with ThreadPoolExecutor(2) as executor:
        for broker_id in (1, 2):
            tree = shared.session()
            clock = SystemClock()
            directory = LogDirectory.open(
                disk or OsDisk(64),
                str(folder / str(broker_id)),
                cluster_id="c",
                node_id=broker_id,
                uuid_factory=uuid.uuid4,
            )
            directory.load(lambda _: log_config(), clock.now_ms())
            loop = asyncio.get_running_loop()
            storage = Storage([directory], clock, loop, executor, broker_id=broker_id)
            metadata = Metadata(
                broker_id,
                TreeSession(tree, executor),
                store.load_image(tree),
                BrokerConfig({}),
                storage,
                in_cluster=True,
            )
            metadata.serve()
            side = Side(tree, metadata, storage)
            tree.watch("/", side.on_event)
            sides.append(side)
        yield sides[0], sides[1]
        for side in sides:
            for directory in side.storage.directories:
                directory.close()


def told(story: Callable[[Side, Side], object], folder: Path) -> None:
    async def run() -> None:
        async with two_brokers(folder) as (one, other):
            await story(one, other)  # type: ignore[misc]

    asyncio.run(run())


@pytest.mark.spec("admin:RC-21")
def test_what_one_broker_decides_the_other_follows(tmp_path: Path) -> None:
    """A new topic has a leader here and a follower there; its deletion takes both away."""

    async def story(one: Side, other: Side) -> None:
        created = topic_created()
        await one.change(created)
        assert one.storage.partitions["t", 0].is_leader
        assert ("t", 0) not in other.storage.partitions
        await other.catch_up()
        assert not other.storage.partitions["t", 0].is_leader
        assert any(isinstance(change, TopicCreated) for change in other.heard)
        await other.change(TopicDeleted(other.metadata.image.topics["t"]))
        await one.catch_up()
        assert ("t", 0) not in one.storage.partitions
        assert not (tmp_path / "1" / "t-0").exists()

    told(story, tmp_path)


def test_an_echo_is_no_news(tmp_path: Path) -> None:
    """The event of a change of our own tells nobody anything."""

    async def story(one: Side, _: Side) -> None:
        await one.change(topic_created())
        one.heard.clear()
        await one.catch_up()
        assert one.heard == []

    told(story, tmp_path)


def test_a_decision_on_an_old_image_is_made_again(tmp_path: Path) -> None:
    """The tree refuses it, what others have written is read, and the second decision sees it."""

    async def story(one: Side, other: Side) -> None:
        await one.change(topic_created())
        await other.catch_up()
        await one.change(ConfigChanged(topic_owner("t"), {"retention.ms": "1"}))
        seen = []

        def decide(image: ClusterImage) -> list[Change]:
            seen.append(dict(image.configs[OwnerKind.TOPIC].get("t", {})))
            return [ConfigChanged(topic_owner("t"), {**seen[-1], "segment.ms": "2000"})]

        await other.metadata.change(decide)
        assert seen == [{}, {"retention.ms": "1"}]
        await one.catch_up()
        assert one.metadata.image.configs[OwnerKind.TOPIC]["t"] == {
            "retention.ms": "1",
            "segment.ms": "2000",
        }

    told(story, tmp_path)


def test_a_topic_that_another_broker_has_made_is_not_made_again(tmp_path: Path) -> None:
    """Both are asked at once: one creates it, the other finds that it exists."""

    async def story(one: Side, other: Side) -> None:
        await one.change(topic_created())

        def decide(image: ClusterImage) -> list[Change]:
            if "t" in image.topics:
                raise ClientFault(Error.TOPIC_ALREADY_EXISTS)
            return [topic_created()]

        with pytest.raises(ClientFault) as fault:
            await other.metadata.change(decide)
        assert fault.value.error is Error.TOPIC_ALREADY_EXISTS

    told(story, tmp_path)


def test_a_controller_of_the_past_decides_nothing(tmp_path: Path) -> None:
    """Its decision carries the epoch of its election; after another one the tree refuses it."""

    async def story(one: Side, other: Side) -> None:
        await one.change(topic_created())
        await other.catch_up()
        first = store.elect_controller(one.tree, 1, 0)
        assert first is not None
        one.tree.delete(layout.CONTROLLER)
        second = store.elect_controller(other.tree, 2, 0)
        assert second is not None

        async def shrink(side: Side, held: Controllership) -> None:
            def decide(image: ClusterImage) -> list[Change]:
                change = change_isr(image, "t", 0, [1])
                return [] if change is None else [change]

            await side.metadata.change(decide, controllership=held)

        with pytest.raises(ControllerMoved):
            await shrink(one, first)
        await shrink(other, second)
        assert other.metadata.image.topics["t"].partitions[0].isr == (1,)

    told(story, tmp_path)


@pytest.mark.parametrize("happened", [True, False])
def test_a_write_without_an_answer_is_looked_up(tmp_path: Path, happened: bool) -> None:
    """The connection broke: what is in the tree decides whether it is written again."""

    async def story(one: Side, other: Side) -> None:
        class Flaky:
            """A tree whose first answer is lost."""

            def __init__(self) -> None:
                self.writes = 0

            def multi(self, ops: Sequence[Op]) -> None:
                self.writes += 1
                if happened or self.writes > 1:
                    one.tree.multi(ops)
                if self.writes == 1:
                    raise OutcomeUnknown("/", "the connection broke")

            def subtrees(self, paths: Sequence[str]) -> object:
                return one.tree.subtrees(paths)

        flaky = Flaky()
        one.metadata._session.renew(flaky)  # type: ignore[arg-type]
        await one.change(topic_created())
        assert flaky.writes == (1 if happened else 2)
        assert "t" in one.metadata.image.topics
        await other.catch_up()
        assert "t" in other.metadata.image.topics

    told(story, tmp_path)


def test_without_a_session_a_client_is_told_to_come_again(tmp_path: Path) -> None:
    """NOT_CONTROLLER, for which every client tries again."""

    async def story(one: Side, _: Side) -> None:
        one.metadata._session.lose()
        with pytest.raises(ClientFault) as fault:
            await one.change(topic_created())
        assert fault.value.error is Error.NOT_CONTROLLER

    told(story, tmp_path)


def test_what_no_event_told_is_found_by_reading_all(tmp_path: Path) -> None:
    """After a lost connection a broker reads everything and applies what it missed."""

    async def story(one: Side, other: Side) -> None:
        await one.change(topic_created("a"), topic_created("b"))
        await other.catch_up()
        await one.change(TopicDeleted(one.metadata.image.topics["a"]), topic_created("c"))
        other.events.clear()
        await other.metadata.refresh()
        assert sorted(other.metadata.image.topics) == ["b", "c"]
        assert sorted(other.storage.partitions) == [("b", 0), ("c", 0)]

    told(story, tmp_path)


def test_a_role_that_a_full_disk_forbids_is_taken_when_there_is_room() -> None:
    """A broker that is to lead with a full disk leads later, and its coordinators hear of it."""

    async def run() -> None:
        disk = MemoryDisk(folders=["/1", "/2"])
        async with two_brokers(Path("/"), disk) as (one, _):
            created = topic_created(replicas=(2, 1))
            followed = PartitionImage((2, 1), (2, 1), 2)
            created.topic.partitions[0] = followed
            await one.change(created)
            disk.capacity_bytes = 0
            await one.change(
                PartitionChanged(
                    "t", 0, replace(followed, leader=1, leader_epoch=1, partition_epoch=1)
                )
            )
            partition = one.storage.partitions["t", 0]
            assert not partition.is_leader
            assert one.storage.unserved
            heard: asyncio.Future[Sequence[Change]] = asyncio.get_running_loop().create_future()
            one.metadata.watchers.append(heard.set_result)
            disk.capacity_bytes = None
            (told_late,) = await asyncio.wait_for(heard, 30)
            assert isinstance(told_late, PartitionChanged)
            assert partition.is_leader
            assert not one.storage.unserved

    asyncio.run(run())
