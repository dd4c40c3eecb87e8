"""The cleaner of a broker: real logs on a real disk, compacted by a process of its own."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer
from confluent_kafka import TopicPartition as Assignment
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from headrace.broker.storage.cleaner import LOG, LogCleaner
from headrace.broker.storage.cleaner_pipe import CleanerFault, CleanerPipe
from headrace.broker.storage.cleaner_process import Pace
from headrace.broker.storage.storage import Storage
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.image import PartitionImage, TopicImage
from headrace.log import LogConfig, PartitionLog
from headrace.log.compaction import CleanerMemory, make_plan, measure
from headrace.log.directory import LogDirectory
from headrace.runtime.clock import SystemClock
from headrace.runtime.os_disk import OsDisk
from headrace.testing import Broker
from headrace.types import TopicPartition
from tests.log.compaction.compacting import COMPACT, settle, what_is_there, write
from tests.log.logs import NOW_MS
from tests.settings import log_config

EAGER = replace(COMPACT, min_cleanable_dirty_ratio=0.01)
_TIMEOUT_S = 60


@dataclass
class Shop:
    """The part of a broker that the cleaner sees."""

    storage: Storage
    cleaner: LogCleaner
    folder: Path
    settings: dict[str, str]
    ears: Ears

    def dirty_log(self, topic: str, config: LogConfig = EAGER) -> PartitionLog:
        """A log of ten records with one key, in two segments, flushed."""
        image = TopicImage(topic, uuid4(), [PartitionImage((1,), (1,), 1)])
        self.storage.apply(image, 0, image.partitions[0], config)
        log = self.storage.partitions[topic, 0].log
        for start in (0, 5):
            write(log, *[(b"k", b"%d" % i) for i in range(start, start + 5)])
            log.roll()
        settle(log)
        return log

    async def until(self, condition: Callable[[], bool]) -> None:
        """Look again whenever the cleaner has something to tell."""
        async with asyncio.timeout(_TIMEOUT_S):
            while not condition():
                self.ears.heard.clear()
                await self.ears.heard.wait()


class Ears(logging.Handler):
    """Hears what the cleaner writes to the log."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = asyncio.Event()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
        self.heard.set()


@asynccontextmanager
async def shop(folder: Path, **settings: str) -> AsyncIterator[Shop]:
    directory = LogDirectory.open(
        OsDisk(), str(folder), cluster_id="c", node_id=1, uuid_factory=uuid4
    )
    directory.load(lambda topic: EAGER, NOW_MS)
    chosen = {"log.cleaner.backoff.ms": "10", "log.cleaner.dedupe.buffer.size": "1048576"}
    chosen |= {key.replace("_", "."): value for key, value in settings.items()}
    with ThreadPoolExecutor(1) as executor:
        clock = SystemClock()
        loop = asyncio.get_running_loop()
        storage = Storage([directory], clock, loop, executor, broker_id=1)
        cleaner = LogCleaner(storage, clock, lambda: BrokerConfig(chosen))
        ears = Ears()
        LOG.addHandler(ears)
        LOG.setLevel(logging.INFO)
        try:
            yield Shop(storage, cleaner, folder, chosen, ears)
        finally:
            LOG.removeHandler(ears)
            await cleaner.stop()
            await storage.drain()
            directory.close()


@pytest.mark.spec("slides:F17", "slides:F19", "slides:F20", "slides:F21")
def test_dirty_logs_are_compacted_in_the_background(tmp_path: Path) -> None:
    """Every log that is due, one after the other, and the checkpoint says so."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            logs = [here.dirty_log(name) for name in ("a", "b")]
            calm = here.dirty_log("c", log_config())
            here.cleaner.start()
            await here.until(lambda: all(log.clean_offset == 10 for log in logs))
            for log in logs:
                assert what_is_there(log) == [(9, b"k", b"9")]
            assert len(what_is_there(calm)) == 10
            checkpoint = (tmp_path / "cleaner-offset-checkpoint").read_text().splitlines()
            assert sorted(checkpoint[2:]) == ["a 0 10", "b 0 10"]

    asyncio.run(story())


def test_a_cleaner_that_is_switched_off_does_nothing(tmp_path: Path) -> None:
    """`log.cleaner.enable=false` leaves compacted topics growing."""

    async def story() -> None:
        async with shop(tmp_path, log_cleaner_enable="false") as here:
            here.dirty_log("a")
            here.cleaner.start()
            assert len(asyncio.all_tasks()) == 1, "there is only this story"

    asyncio.run(story())


@pytest.mark.spec("admin:CR-10")
def test_the_number_of_threads_may_change(tmp_path: Path) -> None:
    """`log.cleaner.threads` is read again and again: 0 stops the cleaner, 2 let it go on."""

    async def story() -> None:
        async with shop(tmp_path, log_cleaner_threads="0") as here:
            log = here.dirty_log("a")
            here.cleaner.start()
            await asyncio.sleep(0)
            assert len(asyncio.all_tasks()) == 2, "the one that looks after the settings"
            here.settings["log.cleaner.threads"] = "2"
            await here.until(lambda: log.clean_offset == 10)

    asyncio.run(story())


def test_two_threads_do_not_compact_the_same_log(tmp_path: Path) -> None:
    """Both find it due and start a process; one of them has it, the other finds nothing to do."""

    async def story() -> None:
        async with shop(tmp_path, log_cleaner_threads="0") as here:
            log = here.dirty_log("a")
            here.cleaner.start()
            await asyncio.sleep(0)
            others = asyncio.all_tasks()
            here.settings["log.cleaner.threads"] = "2"
            await here.until(lambda: bool(here.cleaner.tally.cleanings))
            workers = asyncio.all_tasks() - others
            here.settings["log.cleaner.threads"] = "0"
            await asyncio.wait(workers)
            (message,) = here.ears.messages
            assert message.startswith("Compacted a-0")
            assert what_is_there(log) == [(9, b"k", b"9")]

    asyncio.run(story())


def test_a_log_that_cannot_be_compacted_is_left_alone(tmp_path: Path) -> None:
    """It is reported and left alone for a while; the others go on."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            broken, sound = here.dirty_log("broken"), here.dirty_log("sound")
            (tmp_path / "broken-0" / f"{5:020d}.log").write_bytes(bytes(broken.segments[1].size))
            here.cleaner.start()
            await here.until(lambda: bool(here.cleaner.uncleanable) and sound.clean_offset == 10)
            assert list(here.cleaner.uncleanable) == [TopicPartition("broken", 0)]
            assert "is damaged" in here.cleaner.uncleanable[TopicPartition("broken", 0)]
            assert here.cleaner.find_next() is None

    asyncio.run(story())


@pytest.mark.parametrize("what", ["cut", "deleted"])
def test_a_log_that_changes_meanwhile_is_left_as_it_is(tmp_path: Path, what: str) -> None:
    """Truncation and deletion are not waited for: the compaction is dropped."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            log = here.dirty_log("a")
            cleanable = here.cleaner.find_next()
            assert cleanable is not None
            async with CleanerPipe() as pipe:
                cleaning = asyncio.create_task(here.cleaner.clean(cleanable, pipe))
                await asyncio.sleep(0)
                if what == "cut":
                    log.truncate_to(7)
                else:
                    here.storage.withdraw(
                        [TopicImage("a", uuid4(), [PartitionImage((1,), (1,), 1)])]
                    )
                    here.storage.delete(TopicPartition("a", 0))
                assert await cleaning
            if what == "cut":
                assert len(what_is_there(log)) == 7
            assert log.clean_offset == 0
            assert not here.cleaner.uncleanable

    asyncio.run(story())
    assert not list(tmp_path.glob("a-0/*.cleaned"))


def test_a_process_that_dies_is_told(tmp_path: Path) -> None:
    """Whatever ends it, the broker lives, and knows which log it was."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            log = here.dirty_log("a")
            plan = make_plan(measure(log, NOW_MS), NOW_MS)
            async with CleanerPipe() as pipe:
                assert pipe._process is not None
                os.kill(pipe._process.pid, signal.SIGKILL)
                with pytest.raises(CleanerFault, match="ended with -9"):
                    await pipe.begin(plan, CleanerMemory(), 1e9)

    asyncio.run(story())


def test_a_full_disk_is_waited_for(tmp_path: Path) -> None:
    """No room is no reason to give a log up, nor to take its directory offline."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            log = here.dirty_log("a")
            plan = make_plan(measure(log, NOW_MS), NOW_MS)
            (tmp_path / "a-0" / f"{0:020d}.log.cleaned").write_bytes(b"half")
            full = OSError(errno.ENOSPC, "No space left on device")
            assert not here.cleaner._on_fault(log, plan, full)
            assert not here.cleaner.uncleanable
            assert here.storage.directories[0].online
            here.cleaner._on_fault(log, plan, OSError(errno.EIO, "Input/output error"))
            assert not here.storage.directories[0].online

    asyncio.run(story())
    assert not list(tmp_path.glob("a-0/*.cleaned")), "half a segment takes room as well"


def test_an_idle_active_segment_is_completed_in_time(tmp_path: Path) -> None:
    """KIP-354: nothing is written any more, and `max.compaction.lag.ms` is kept nevertheless."""

    async def story() -> None:
        async with shop(tmp_path) as here:
            log = here.dirty_log("a", replace(COMPACT, max_compaction_lag_ms=1))
            write(log, (b"k", b"last"))
            here.cleaner.start()
            await here.until(lambda: log.clean_offset == 11)
            assert what_is_there(log) == [(10, b"k", b"last")]

    asyncio.run(story())


# A broker and its clients.


def read_from_the_start(servers: dict[str, Any], topic: str) -> list[Any]:
    consumer = Consumer({**servers, "group.id": "g", "enable.partition.eof": True})
    consumer.assign([Assignment(topic, 0, OFFSET_BEGINNING)])
    messages = []
    while (message := consumer.poll(10)) is not None and message.error() is None:
        messages.append(message)
    consumer.close()
    return messages


def table_of(messages: list[Any]) -> dict[bytes, bytes]:
    return {message.key(): message.value() for message in messages}


@pytest.mark.spec("slides:F06", "slides:F16", "slides:O39")
def test_a_compacted_topic_from_a_clients_side(tmp_path: Path) -> None:
    """What librdkafka wrote is compacted under its eyes: however often it reads, before and after,
    it finds the last value of each key, and at last little else."""
    properties = {"log.cleaner.backoff.ms": 50}
    with Broker(properties, data=tmp_path) as broker:
        servers: dict[str, Any] = {"bootstrap.servers": broker.bootstrap_servers}
        settings = {"cleanup.policy": "compact", "segment.bytes": "20000"}
        settings["min.cleanable.dirty.ratio"] = "0.01"
        admin = AdminClient(servers)
        topics = admin.create_topics([NewTopic("customers", 1, 1, config=settings)])
        topics["customers"].result(10)
        producer = Producer({**servers, "batch.num.messages": 50, "compression.type": "lz4"})
        for i in range(5000):
            producer.produce("customers", b"%d" % i * 20, b"%d" % (i % 300))
        assert producer.flush(30) == 0
        deadline = time.monotonic() + 90
        while True:
            messages = read_from_the_start(servers, "customers")
            assert table_of(messages) == {b"%d" % (i % 300): b"%d" % i * 20 for i in range(5000)}
            if len(messages) < 1000:
                break
            assert time.monotonic() < deadline, broker.output
        offsets = [message.offset() for message in messages]
        assert len(offsets) < 1000
        assert offsets == sorted(offsets)
    left = [name.name for name in tmp_path.rglob("*") if name.name.endswith((".cleaned", ".swap"))]
    assert left == []


# The process on its own.


@pytest.mark.spec("slides:F25")
def test_the_pace_is_held() -> None:
    """`log.cleaner.io.max.bytes.per.second`: whoever is ahead of it waits."""
    pace = Pace(100_000_000, os.getppid())
    loop = asyncio.new_event_loop()
    began = loop.time()
    for _ in range(10):
        pace(1 << 20)
    assert loop.time() - began > 0.08
    loop.close()


def test_work_ends_with_the_broker() -> None:
    """Another parent means that the broker is gone, and another may be at work already."""
    with pytest.raises(SystemExit, match="the broker is gone"):
        Pace(1e308, os.getppid() + 1)(1 << 20)


def test_the_process_ends_with_its_input_and_names_faults() -> None:
    """A plan for files that do not exist is answered, not died of."""
    plan = {
        "folder": "/nowhere",
        "first_dirty_offset": 0,
        "first_uncleanable_offset": 9,
        "sources": [{"base_offset": 0, "size": 10, "has_txn_index": False}],
        "later_txn_indexes": [],
        "producers": {},
        "now_ms": 0,
        "delete_retention_ms": 0,
        "segment_bytes": 1,
        "segment_index_bytes": 1,
        "index_interval_bytes": 1,
        "truncations": 0,
    }
    request = {"plan": plan, "memory": {}, "max_bytes_per_s": 1e308}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "headrace.broker.storage.cleaner_process"],
        input=json.dumps(request).encode() + b"\n",
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=True,
    )
    reply = json.loads(done.stdout)
    assert (reply["fault"], reply["errno"]) == ("OSError", errno.ENOENT)
    assert "/nowhere/00000000000000000000.log" in reply["message"]
