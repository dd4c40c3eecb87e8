"""Deleted topics: nobody gets their logs any more, and they stay gone whatever the disk says."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
import uuid
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from headrace.broker.membership import metadata as broker_metadata
from headrace.broker.membership.adoption import adopt, finish_deletions
from headrace.broker.membership.metadata import Metadata
from headrace.broker.membership.session import TreeSession
from headrace.broker.storage.storage import Storage
from headrace.cluster import layout, store
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.image import (
    Change,
    PartitionChanged,
    PartitionImage,
    TopicCreated,
    TopicDeleted,
    TopicImage,
)
from headrace.coordination.memory import MemoryStore
from headrace.coordination.tree import Tree
from headrace.errors import ClientFault, Error
from headrace.log.directory import LogDirectory
from headrace.replica.waiters import CommitWaiter, FetchWaiter
from headrace.runtime.clock import SystemClock
from headrace.testing.memory_disk import MemoryDisk
from headrace.types import TopicPartition
from tests.broker.replication.nodes import until
from tests.log.logs import NOW_MS, batch
from tests.settings import log_config

PATIENCE_S = 30


@dataclass
class Alone:
    """A broker without others, on a disk in memory."""

    disk: MemoryDisk
    tree: Tree
    storage: Storage
    metadata: Metadata
    lost: list[str] = field(default_factory=list)

    @property
    def notes(self) -> list[str]:
        return list(self.tree.children(layout.DELETED_TOPICS))

    def folders(self, name: str) -> list[str]:
        """What is left of a topic under the names of its partitions."""
        return [
            each
            for path in self.paths
            for each in self.disk.list(path)
            if each.startswith(f"{name}-") and not each.endswith("-delete")
        ]

    @property
    def paths(self) -> list[str]:
        return [directory.path for directory in self.storage.directories]

    async def change(self, *changes: Change) -> None:
        await self.metadata.change(lambda _: changes)

    async def delete(self, name: str) -> None:
        await self.change(TopicDeleted(self.metadata.image.topics[name]))

    async def until_notes_are(self, *names: str) -> None:
        """The notes change when the broker has tried again."""
        await asyncio.wait_for(until(lambda: self.notes == list(names)), PATIENCE_S)


def topic(name: str = "t", partitions: int = 1, replicas: tuple[int, ...] = (1,)) -> TopicImage:
    images = [PartitionImage(replicas, replicas, replicas[0]) for _ in range(partitions)]
    return TopicImage(name, uuid.uuid4(), images)


def found_of(storage: Storage, index: int) -> uuid.UUID | Error:
    """Whose log leads, or what a client is told."""
    try:
        return storage.find_leader("t", index).topic_id
    except ClientFault as fault:
        return fault.error


def no_room(path: str) -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def no_descriptor(path: str) -> OSError:
    return OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)


@asynccontextmanager
async def alone(
    disk: MemoryDisk | None = None, tree: Tree | None = None, *, directories: int = 1
) -> AsyncIterator[Alone]:
    paths = [f"/{name}" for name in "abc"[:directories]]
    disk = disk or MemoryDisk(folders=paths)
    if tree is None:
        tree = MemoryStore().session()
        store.initialize(tree, lambda: "c")
    clock = SystemClock()
    opened = []
    for path in paths:
        directory = LogDirectory.open(
            disk, path, cluster_id="c", node_id=1, uuid_factory=uuid.uuid4
        )
        directory.load(lambda _: log_config(), clock.now_ms())
        opened.append(directory)
    with ThreadPoolExecutor(1) as executor:
        storage = Storage(opened, clock, asyncio.get_running_loop(), executor, broker_id=1)
        metadata = Metadata(
            1,
            TreeSession(tree, executor),
            store.load_image(tree),
            BrokerConfig({}),
            storage,
            in_cluster=False,
        )
        here = Alone(disk, tree, storage, metadata)
        storage.call_when_all_lost(here.lost.append)
        finish_deletions(tree, storage)
        await adopt(metadata, storage, 1, uuid.uuid4)
        metadata.serve()
        yield here
        for directory in storage.directories:
            directory.release()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker tries again at once, and lets others be served after every single step."""
    monkeypatch.setattr(broker_metadata, "_RETRY_S", 0.001)
    monkeypatch.setattr(broker_metadata, "_SLICE_S", 0.0)


# -- deleted and created again ---------------------------------------------------------------------


def test_a_topic_that_is_created_again_never_shows_the_log_of_the_deleted_one() -> None:
    """Both arrive together, and others are served while the logs follow: what they find under the
    topic's name is of the new id, or nothing. A record that the old log took would be acknowledged
    and deleted.
    """

    async def run() -> None:
        async with alone() as here:
            old, new = topic(partitions=20), topic(partitions=20)
            await here.change(TopicCreated(old))
            looks = 0
            task = asyncio.create_task(here.metadata.learn([TopicDeleted(old), TopicCreated(new)]))
            while not task.done():
                await asyncio.sleep(0)
                if here.metadata.image.topics["t"].id == old.id:
                    continue
                looks += 1
                for index in range(20):
                    assert found_of(here.storage, index) in (new.id, Error.NOT_LEADER_OR_FOLLOWER)
            await task
            assert looks > 20
            assert all(here.storage.find_leader("t", index) for index in range(20))
            assert here.folders("t") == sorted(f"t-{index}" for index in range(20))

    asyncio.run(run())


def test_who_waits_on_a_deleted_partition_is_told_at_once() -> None:
    """A parked fetch looks again, and a write that was not committed never will be."""

    async def run() -> None:
        async with alone() as here:
            old, new = topic(partitions=20, replicas=(1, 2)), topic(partitions=20)
            await here.change(TopicCreated(old))
            last = here.storage.find_leader("t", 19)
            told: list[str] = []
            last.fetch_waiters.append(FetchWaiter(1, lambda: told.append("fetch")))
            appended = last.append(batch(), acks=-1, now_ms=NOW_MS)
            required = appended.last_offset + 1
            last.await_commit(required, CommitWaiter(lambda: told.append("produce")))
            task = asyncio.create_task(here.metadata.learn([TopicDeleted(old), TopicCreated(new)]))
            await asyncio.sleep(0)
            assert here.metadata.image.topics["t"].id == new.id
            assert sorted(told) == ["fetch", "produce"]
            assert last.commit_fault(required) is Error.UNKNOWN_TOPIC_OR_PARTITION
            with pytest.raises(ClientFault) as fault:
                last.append(batch(), acks=-1, now_ms=NOW_MS)
            assert fault.value.error is Error.UNKNOWN_TOPIC_OR_PARTITION
            await task

    asyncio.run(run())


def test_a_change_that_overtakes_the_deletion_keeps_the_new_log() -> None:
    """The partition's state is read before the topic's end: the role is taken with a new log, and
    the deletion that follows does not take that one for the old.
    """

    async def run() -> None:
        async with alone() as here:
            old, new = topic(), topic()
            await here.change(TopicCreated(old))
            changed = PartitionChanged("t", 0, new.partitions[0])
            here.metadata.image.apply([TopicDeleted(old), TopicCreated(new)])
            await here.metadata._follow_all([changed, TopicDeleted(old), TopicCreated(new)])
            assert here.storage.find_leader("t", 0).topic_id == new.id
            assert here.folders("t") == ["t-0"]

    asyncio.run(run())


def test_a_flush_of_a_deleted_log_says_nothing_of_the_new_one() -> None:
    """It finds its folder gone. That is no fault of the disk where a new topic has its log."""

    async def run() -> None:
        async with alone(directories=2) as here:
            old, new = topic(), topic()
            await here.change(TopicCreated(old))
            partition = here.storage.find_leader("t", 0)
            partition.append(batch(), acks=1, now_ms=NOW_MS)
            may_run = threading.Event()
            here.storage.in_thread(may_run.wait, PATIENCE_S)
            here.storage.flush(partition)
            here.storage.withdraw([old])
            here.storage.delete(TopicPartition("t", 0))
            for each in (topic("u"), topic("v"), topic("w"), new):
                here.storage.apply(each, 0, each.partitions[0], log_config())
            assert [len(each.logs) for each in here.storage.directories] == [2, 2]
            assert here.storage.find_leader("t", 0).log.folder == "/b/t-0"
            may_run.set()
            await here.storage.drain()
            assert all(each.online for each in here.storage.directories)

    asyncio.run(run())


# -- disks that are full ---------------------------------------------------------------------------


def test_a_deletion_that_finds_no_room_is_made_later() -> None:
    """A longer name may need room. The directory stays online, and the note stays in the tree until
    the folder is gone.
    """

    async def run() -> None:
        async with alone() as here:
            await here.change(TopicCreated(topic("t")), TopicCreated(topic("other")))
            here.disk.make_read_only("/a/t-0", errno.ENOSPC)
            await here.delete("t")
            assert here.lost == []
            assert here.storage.find_leader("other", 0)
            assert ("t", 0) not in here.storage.partitions
            assert here.folders("t") == ["t-0"]
            assert here.notes == ["t"]
            here.disk.mend("/a/t-0")
            await here.until_notes_are()
            assert here.folders("t") == []

    asyncio.run(run())


def test_a_topic_is_not_created_again_before_the_old_one_is_gone() -> None:
    """The note that protects from the old folders would take the new ones as well."""

    async def run() -> None:
        async with alone() as here:
            await here.change(TopicCreated(topic()))
            here.disk.make_read_only("/a/t-0", errno.EDQUOT)
            await here.delete("t")
            with pytest.raises(ClientFault, match="t-0") as fault:
                await here.change(TopicCreated(topic()))
            assert fault.value.error is Error.KAFKA_STORAGE_ERROR
            assert "t" not in here.metadata.image.topics
            here.disk.mend("/a/t-0")
            new = topic()
            await here.change(TopicCreated(new))
            assert here.storage.find_leader("t", 0).topic_id == new.id
            assert here.notes == []

    asyncio.run(run())


def test_the_role_of_a_topic_that_was_created_again_waits_for_the_folder() -> None:
    """Nobody asks this broker in a cluster: it leads when the old log has made way."""

    async def run() -> None:
        async with alone() as here:
            old, new = topic(), topic()
            await here.change(TopicCreated(old))
            here.disk.make_read_only("/a/t-0", errno.ENOSPC)
            await here.metadata.learn([TopicDeleted(old), TopicCreated(new)])
            with pytest.raises(ClientFault) as fault:
                here.storage.find_leader("t", 0)
            assert fault.value.error is Error.KAFKA_STORAGE_ERROR
            heard: asyncio.Future[object] = asyncio.get_running_loop().create_future()
            here.metadata.watchers.append(heard.set_result)
            here.disk.mend("/a/t-0")
            await asyncio.wait_for(heard, PATIENCE_S)
            assert here.storage.find_leader("t", 0).topic_id == new.id

    asyncio.run(run())


def test_a_replica_that_has_moved_away_leaves_its_folder_later() -> None:
    """As with a deleted topic, a full disk is no reason to give up all the others."""

    async def run() -> None:
        async with alone() as here:
            await here.change(TopicCreated(topic("t")), TopicCreated(topic("other")))
            here.disk.make_read_only("/a/t-0", errno.ENOSPC)
            moved = PartitionImage((2,), (2,), 2, leader_epoch=1, partition_epoch=1)
            await here.metadata.learn([PartitionChanged("t", 0, moved)])
            assert here.storage.find_leader("other", 0)
            assert here.folders("t") == ["t-0"]
            here.disk.mend("/a/t-0")
            await asyncio.wait_for(until(lambda: not here.folders("t")), PATIENCE_S)

    asyncio.run(run())


def test_a_start_finishes_deletions_on_a_full_disk() -> None:
    """Nobody reads from the folder yet: it can go at once where there is no room to rename it."""

    async def run() -> None:
        disk = MemoryDisk(folders=["/a"])
        async with alone(disk) as here:
            await here.change(TopicCreated(topic("t")), TopicCreated(topic("other")))
            disk.make_read_only("/a/t-0", errno.ENOSPC)
            await here.delete("t")
            tree = here.tree
        disk.mend("/a/t-0")
        renames = []

        class NoLongerNames(MemoryDisk):
            def rename(self, old: str, new: str) -> None:
                if new.endswith("-delete"):
                    renames.append(old)
                    raise no_room(old)
                super().rename(old, new)

        disk.__class__ = NoLongerNames
        async with alone(disk, tree) as here:
            assert renames == ["/a/t-0"]
            assert here.lost == []
            assert sorted(here.metadata.image.topics) == ["other"]
            assert here.folders("t") == []
            assert here.notes == []

    asyncio.run(run())


# -- deletions that are not durable ----------------------------------------------------------------


def test_the_note_stays_until_the_deletion_is_durable() -> None:
    """A power cut brings the folder back; without the note it would be adopted as a topic."""

    async def run() -> None:
        async with alone() as here:
            await here.change(TopicCreated(topic()))
            here.storage.find_leader("t", 0).append(batch(), acks=1, now_ms=NOW_MS)
            here.storage.find_leader("t", 0).log.flush()
            here.disk.fail_at(2, no_descriptor("/a"))  # the rename is the first
            await here.delete("t")
            assert here.lost == []
            assert here.notes == ["t"]
            left, tree = here.disk.crash(), here.tree
            assert "t-0" in left.list("/a")
            await here.until_notes_are()
            assert "t-0" not in here.disk.crash().list("/a")
        tree.create(layout.deleted_topic_path("t"), b"")  # as it was before the power went
        async with alone(left, tree) as again:
            assert "t" not in again.metadata.image.topics
            assert again.folders("t") == []

    asyncio.run(run())


def test_the_note_stays_while_a_directory_is_offline() -> None:
    """Nobody knows what is there; but a topic that is created again must not be deleted by it."""

    async def run() -> None:
        async with alone(directories=2) as here:
            await here.change(TopicCreated(topic(partitions=2)))
            here.disk.break_path("/b")
            await here.delete("t")
            assert [each.online for each in here.storage.directories] == [True, False]
            assert here.notes == ["t"]
            await here.change(TopicCreated(topic()))
            assert here.notes == []
            assert here.storage.find_leader("t", 0)

    asyncio.run(run())


# -- roles that found no room ----------------------------------------------------------------------


def test_others_are_served_while_postponed_roles_are_taken() -> None:
    """Room for thousands of logs may come in one moment. Nothing else changes meanwhile."""

    async def run() -> None:
        async with alone() as here:
            here.disk.capacity_bytes = 0
            await here.metadata.learn([TopicCreated(topic(partitions=50))])
            assert len(here.storage.unserved) == 50
            here.disk.capacity_bytes = None
            seen: list[int] = []
            async with asyncio.timeout(PATIENCE_S):
                while len(here.storage.partitions) < 50:
                    await asyncio.sleep(0)
                    count = len(here.storage.partitions)
                    if 0 < count < 50:
                        assert here.metadata._changing.locked()
                        seen.append(count)
            assert len(seen) > 10

    asyncio.run(run())


def test_only_roles_that_were_taken_are_told() -> None:
    """One of those that waited is of a topic that was created again since, elsewhere."""

    async def run() -> None:
        async with alone() as here:
            old, other = topic("t"), topic("u")
            here.disk.capacity_bytes = 0
            await here.metadata.learn([TopicCreated(old), TopicCreated(other)])
            new = topic("t", replicas=(2,))
            await here.metadata.learn([TopicDeleted(old), TopicCreated(new)])
            heard: asyncio.Future[list[Change]] = asyncio.get_running_loop().create_future()
            here.metadata.watchers.append(heard.set_result)  # type: ignore[arg-type]
            here.disk.capacity_bytes = None
            told = await asyncio.wait_for(heard, PATIENCE_S)
            assert told == [PartitionChanged("u", 0, other.partitions[0])]

    asyncio.run(run())
