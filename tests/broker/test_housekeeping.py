"""What a broker does on its own, on disks that refuse some of it: the rest is done all the same."""

from __future__ import annotations

import asyncio
import errno
import uuid
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from headrace.broker.housekeeping import Housekeeping
from headrace.broker.storage.storage import Storage
from headrace.cluster.image import PartitionImage, TopicImage
from headrace.log import LogConfig
from headrace.log.directory import LogDirectory
from headrace.runtime.disk import read_all
from headrace.testing import VirtualClock
from headrace.testing.memory_disk import MemoryDisk
from headrace.types import TopicPartition
from tests.log.logs import NOW_MS, batch
from tests.settings import log_config

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

DAY_MS = 24 * 3_600_000
PATHS = ("/a", "/b")


class Household:
    """Two directories, and the duties of the broker that has them."""

    def __init__(self, disk: MemoryDisk, clock: VirtualClock, storage: Storage) -> None:
        self.disk = disk
        self.clock = clock
        self.storage = storage
        broker = SimpleNamespace(clock=clock, storage=storage)
        self.duties = Housekeeping(cast("Broker", broker), [])

    def topic(self, name: str, partitions: int, config: LogConfig | None = None) -> TopicImage:
        """Lead its partitions, which go to the directories in turn; each has one record."""
        images = [PartitionImage((1,), (1,), 1) for _ in range(partitions)]
        topic = TopicImage(name, uuid.uuid4(), images)
        for index, image in enumerate(images):
            self.storage.apply(topic, index, image, config or log_config())
            partition = self.storage.find_leader(name, index)
            partition.append(batch(), acks=1, now_ms=self.clock.now_ms())
        return topic

    def folder(self, name: str, index: int) -> str:
        return self.storage.find_leader(name, index).log.folder


@asynccontextmanager
async def household() -> AsyncIterator[Household]:
    disk, clock = MemoryDisk(folders=PATHS), VirtualClock(NOW_MS)
    directories = [
        LogDirectory.open(disk, path, cluster_id="c", node_id=1, uuid_factory=uuid.uuid4)
        for path in PATHS
    ]
    for directory in directories:
        directory.load(lambda _: log_config(), NOW_MS)
    with ThreadPoolExecutor(1) as executor:
        loop = asyncio.get_running_loop()
        yield Household(disk, clock, Storage(directories, clock, loop, executor, broker_id=1))


def test_a_log_without_room_does_not_keep_the_others_from_retention() -> None:
    """One cannot roll its last segment; it stays, is reported, and all others are emptied."""

    async def run() -> None:
        async with household() as here:
            here.topic("t", 4)
            full = here.folder("t", 1)
            reported: list[TopicPartition] = []
            here.storage.on_full = reported.append
            here.disk.make_read_only(full, errno.ENOSPC)
            here.clock.advance(100 * DAY_MS)
            here.duties.apply_retention()
            starts = [here.storage.find_leader("t", i).log.log_start_offset for i in range(4)]
            assert starts == [1, 0, 1, 1]
            assert reported == [TopicPartition("t", 1)]

    asyncio.run(run())


def test_a_log_on_a_broken_disk_takes_only_its_own_directory_offline() -> None:
    """As with an append, what is more than a full disk is the end of the directory."""

    async def run() -> None:
        async with household() as here:
            here.topic("t", 4)
            here.disk.break_path("/a")
            here.clock.advance(100 * DAY_MS)
            here.duties.apply_retention()
            assert [each.online for each in here.storage.directories] == [False, True]
            for index in (1, 3):
                assert here.storage.find_leader("t", index).log.log_start_offset == 1

    asyncio.run(run())


def test_checkpoints_of_one_directory_do_not_depend_on_another() -> None:
    """A full disk keeps its own for later, a broken one is given up."""

    async def run() -> None:
        async with household() as here:
            here.topic("t", 2)
            here.disk.make_read_only("/a", errno.ENOSPC)
            here.duties.write_checkpoints()
            name = "recovery-point-offset-checkpoint"
            assert [here.disk.exists(f"{path}/{name}") for path in PATHS] == [False, True]
            assert all(each.online for each in here.storage.directories)
            here.disk.mend("/a")
            here.duties.write_checkpoints()
            assert here.disk.exists(f"/a/{name}")
            for index in range(2):
                partition = here.storage.find_leader("t", index)
                partition.append(batch(), acks=1, now_ms=here.clock.now_ms())
            here.disk.break_path("/a")
            here.duties.write_checkpoints()
            assert [each.online for each in here.storage.directories] == [False, True]
            name = "replication-offset-checkpoint"
            assert read_all(here.disk, f"/b/{name}").splitlines()[2:] == [b"t 1 2"]

    asyncio.run(run())


def test_folders_that_could_not_be_removed_are_tried_again() -> None:
    """One that is stuck keeps neither the others of its directory nor those of the next."""

    async def run() -> None:
        async with household() as here:
            config = log_config(file_delete_delay_ms=0)
            topic = here.topic("t", 6, config)
            here.storage.withdraw([topic])
            for index in range(6):
                here.storage.delete(TopicPartition("t", index))
            stuck = next(f"/a/{each}" for each in here.disk.list("/a") if "-delete" in each)
            here.disk.break_path(stuck)

            def left() -> list[str]:
                return [
                    f"{path}/{each}"
                    for path in PATHS
                    for each in here.disk.list(path)
                    if each.endswith("-delete")
                ]

            await swept(here, lambda: left() == [stuck])
            here.disk.mend(stuck)
            await swept(here, lambda: left() == [])

    asyncio.run(run())


def test_a_segment_that_could_not_be_removed_keeps_no_other_log() -> None:
    """Its file is tried again as well."""

    async def run() -> None:
        async with household() as here:
            config = log_config(file_delete_delay_ms=0)
            here.topic("t", 2, config)
            folders = [here.folder("t", index) for index in range(2)]
            here.clock.advance(100 * DAY_MS)
            here.duties.apply_retention()
            stuck = f"{folders[0]}/{0:020}.log.deleted"
            here.disk.make_read_only(stuck, errno.EIO)
            here.duties.remove_doomed()
            assert here.disk.exists(stuck)
            assert not here.disk.exists(f"{folders[1]}/{0:020}.log.deleted")
            here.disk.mend(stuck)
            here.duties.remove_doomed()
            assert not here.disk.exists(stuck)

    asyncio.run(run())


async def swept(here: Household, condition: Callable[[], bool]) -> None:
    """Sweep once a minute until a thread has removed what it could."""
    async with asyncio.timeout(30):
        while not condition():
            here.clock.advance(60_000)
            here.duties.remove_doomed()
            await here.storage.in_thread(lambda: None)
