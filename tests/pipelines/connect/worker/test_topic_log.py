"""Topics of the cluster's state that cannot be read: what is told, and what is left behind."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from headrace.admin.client import Admin
from headrace.client.faults import TimedOut, UnknownTopic
from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import HeadraceError
from headrace.pipelines.connect.config.worker import distributed
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.worker import offset_topic, topic_log
from headrace.pipelines.connect.worker.distributed import Distributed
from headrace.pipelines.connect.worker.offset_topic import OffsetTopics
from headrace.pipelines.connect.worker.topic_log import TopicLog
from headrace.pipelines.connect.worker.topic_writer import TopicWriter
from headrace.records.record import Record
from headrace.runtime.clock import SystemClock
from headrace.testing import Cluster
from tests.pipelines.connect.worker.clustering import until, worker_settings

pytestmark = pytest.mark.timeout(180)
_ESTABLISHED = "01"


@pytest.fixture
def client(bootstrap: str) -> ClientSettings:
    """How to reach the broker."""
    return client_of(bootstrap)


def client_of(bootstrap: str) -> ClientSettings:
    settings, _ = client_settings({"bootstrap.servers": bootstrap})
    return settings


def write(client: ClientSettings, topic: str, *values: bytes) -> None:
    """Values into a topic, each under the same key."""
    with closing(TopicWriter(client, topic, SystemClock())) as writer:
        writer.write([(b"k", value) for value in values])


def connections(bootstrap: str) -> int:
    """How many connections this machine's clients have to a broker."""
    port = f":{int(bootstrap.rpartition(':')[2]):04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[2].endswith(port) and line[3] == _ESTABLISHED for line in lines)


class Vanishing:
    """A log of a topic that is deleted when a part of it was read."""

    def __init__(self, client: ClientSettings, topic: str) -> None:
        self._client = client
        self._topic = topic
        self.is_gone = threading.Event()
        with Admin(client) as admin:
            admin.create(topic, 1, 1)
        write(client, topic, *[b"x" * 300_000] * 8)  # more than one answer has
        self.log = TopicLog(client, topic, self._apply, read_committed=False)

    def _apply(self, records: Sequence[Record]) -> None:
        if not self.is_gone.is_set():
            with Admin(self._client) as admin:
                admin.delete([self._topic])
            self.is_gone.set()


def has_trace(record: logging.LogRecord) -> bool:
    return record.exc_info is not None and isinstance(record.exc_info[1], RuntimeError)


def test_a_fault_that_nobody_expects_does_not_end_the_reader(
    client: ClientSettings, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged with its trace, told to who waits, and what follows is read when it is over."""
    with Admin(client) as admin:
        admin.create(topic, 1, 1)
    found: list[bytes | None] = []
    broken = threading.Event()

    def apply(records: Sequence[Record]) -> None:
        if broken.is_set():
            raise RuntimeError("no such thing")
        found.extend(record.value for record in records)

    caplog.set_level(logging.ERROR, topic_log.__name__)
    log = TopicLog(client, topic, apply, read_committed=False)
    log.open()
    with closing(log):
        log.follow()
        broken.set()
        write(client, topic, b"one")
        until("it is logged", lambda: any(map(has_trace, caplog.records)), 60)
        with pytest.raises(TimedOut, match="no such thing"):
            log.read_to_end(0)
        broken.clear()
        write(client, topic, b"two")
        log.read_to_end(60)
    assert found == [b"one", b"two"]


def test_a_topic_of_which_nothing_comes_is_not_waited_for_without_end(
    client: ClientSettings, bootstrap: str, topic: str
) -> None:
    """The fault names the partition, and nothing is left open."""
    vanishing = Vanishing(client, topic)
    before = connections(bootstrap)
    told = rf"{topic}-0 \(at offset \d of 8\) for 1 s.*Bring back"
    with closing(vanishing.log), pytest.raises(TimedOut, match=told):
        vanishing.log.open(1)
    assert connections(bootstrap) == before


def test_who_opens_a_topic_can_be_stopped(
    client: ClientSettings, bootstrap: str, topic: str
) -> None:
    """While nothing of it comes."""
    vanishing = Vanishing(client, topic)
    before = connections(bootstrap)
    faults: list[HeadraceError] = []

    def open_it() -> None:
        try:
            vanishing.log.open()
        except HeadraceError as fault:
            faults.append(fault)

    opening = threading.Thread(target=open_it)
    opening.start()
    assert vanishing.is_gone.wait(60)
    vanishing.log.close()
    opening.join(30)
    assert [f"the topic {topic} was not read to its end" in str(each) for each in faults] == [True]
    assert connections(bootstrap) == before


def test_a_topic_that_is_only_opened_leaves_no_connection(
    client: ClientSettings, bootstrap: str, topic: str
) -> None:
    """Nobody follows it when what was to be opened next has failed."""
    with Admin(client) as admin:
        admin.create(topic, 1, 1)
    before = connections(bootstrap)
    with closing(TopicLog(client, topic, lambda records: None, read_committed=False)) as log:
        log.open()
        assert connections(bootstrap) > before
    assert connections(bootstrap) == before


def test_offsets_that_cannot_be_opened_leave_no_connection(
    client: ClientSettings, bootstrap: str, topic: str
) -> None:
    settings = distributed(worker_settings(bootstrap, topic))
    before = connections(bootstrap)
    with pytest.raises(UnknownTopic):
        OffsetTopics(client, settings, SystemClock()).open()
    assert connections(bootstrap) == before


def test_partitions_without_a_leader_are_named(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connector's own topic of offsets is the herder's to wait for, and that not for long."""
    monkeypatch.setattr(topic_log, "_CALL_MS", 1_000)
    monkeypatch.setattr(offset_topic, "_OWN_PATIENCE_S", 2.0)
    compacted: dict[str, str | None] = {"cleanup.policy": "compact"}
    with Cluster(brokers=2) as cluster:
        here, there = cluster.brokers
        bootstrap = here.bootstrap_servers
        settings = worker_settings(bootstrap, topic)
        with Admin(client_of(bootstrap)) as admin:
            admin.create(f"{topic}-offset", None, None, {0: [here.id]}, compacted)
            admin.create(f"{topic}-own", None, None, {0: [here.id], 1: [there.id]}, compacted)
        there.stop()
        offsets = OffsetTopics(client_of(bootstrap), distributed(settings), SystemClock())
        with closing(offsets):
            offsets.open()
            before = connections(bootstrap)
            with pytest.raises(TimedOut, match=rf"{topic}-own cannot be read.*Bring back"):
                offsets.of("c", {"offsets.storage.topic": f"{topic}-own"})
            assert connections(bootstrap) == before
            assert offsets.of("c", {}).all() == []


def test_a_worker_that_could_not_start_ends_at_once(bootstrap: str, topic: str) -> None:
    """It has no work to wait for, however patient it is with work."""
    with Admin(client_of(bootstrap)) as admin:
        admin.create(f"{topic}-config", 2, 1, {}, {"cleanup.policy": "compact"})
    patient = {"task.shutdown.graceful.timeout.ms": "600000"}
    worker = Distributed(worker_settings(bootstrap, topic, **patient), SystemClock())
    worker.at("http://127.0.0.1:1/")
    before = connections(bootstrap)
    with pytest.raises(ConfigException, match="single partition"):
        worker.start()
    stopping = threading.Thread(target=worker.stop, daemon=True)
    stopping.start()
    stopping.join(60)
    assert not stopping.is_alive()
    assert connections(bootstrap) == before
