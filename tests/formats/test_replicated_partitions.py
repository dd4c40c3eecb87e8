"""A partition of three brokers is one file in three places: byte-identical below the high
watermark, whatever happened, and sound to Apache Kafka's DumpLogSegments on each of them.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from headrace.errors import Error
from headrace.records.compression import Codec
from headrace.testing import Cluster
from headrace.testing.cluster import ClusterBroker
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from tests.clients.raw import Connection, batch_of
from tests.clients.records import CODECS, Record, incompressible, numbered_records, sample_records
from tests.clients.requests import create_topics_request, produced, produced_bytes
from tests.formats.reading import contents_of
from tests.formats.replicas import (
    PATIENCE_SECONDS,
    await_in_sync,
    await_state,
    below,
    folders,
    high_watermark,
    leader_of,
)
from tests.formats.test_dump_log_segments import BATCH_LINE, RECORD_LINE, assert_no_complaint

DumpLog = Callable[..., str]
EPOCH_LINE = re.compile(r"^baseOffset: .* partitionLeaderEpoch: (\d+) ", re.MULTILINE)
CREATE_TOPICS_VERSION = 7
LEADER = 1
PROPERTIES = {
    "log.segment.bytes": 1 << 20,
    "log.retention.ms": -1,
    "default.replication.factor": 3,
    "min.insync.replicas": 1,
    "auto.leader.rebalance.enable": "false",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3, PROPERTIES) as running:
        yield running


def made(cluster: Cluster, topic: str) -> str:
    with Connection(cluster.bootstrap_servers) as connection:
        answer = connection.ask(
            create_topics_request(topic, replication_factor=3), CREATE_TOPICS_VERSION
        )
    assert [each.error_code for each in answer.topics] == [Error.NONE]
    await_in_sync(cluster, topic, 3)
    return topic


def connected(cluster: Cluster, broker_id: int) -> Connection:
    return Connection(cluster.broker(broker_id).bootstrap_servers)


def load(connection: Connection, topic: str, *, rounds: int) -> None:
    """Every codec, and an idempotent producer with batches that make segments roll."""
    identity = connection.ask(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 4
    )
    for number in range(rounds):
        for codec in CODECS:
            produced(connection, topic, sample_records(), compression=Codec[codec.upper()])
        batch = batch_of(
            [*numbered_records(20), Record(b"big", incompressible(100_000), 0)],
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=21 * number,
        )
        assert produced_bytes(connection, topic, batch).error_code == Error.NONE


def assert_replicas_agree(cluster: Cluster, topic: str) -> list[bytes]:
    """Compare all replicas with what the leader serves; the answer is that."""
    leader = await_in_sync(cluster, topic, 3)
    with connected(cluster, leader) as connection:
        end = high_watermark(connection, topic)
        served = contents_of(connection, topic)
    wanted = below(cluster.broker(leader).log_dir / f"{topic}-0", end)
    assert b"".join(wanted) == served.batches
    for folder in folders(cluster, topic):
        found = below(folder, end)
        # One by one, so that a failure names the first batch that differs.
        for at, (ours, theirs) in enumerate(zip(found, wanted, strict=False)):
            assert ours == theirs, f"batch {at} in {folder}"
        assert len(found) == len(wanted), folder
    return wanted


def assert_dumps_agree(dump_log: DumpLog, places: Sequence[Path]) -> list[str]:
    """Apache Kafka finds every replica sound and prints the same records; the epochs it saw."""
    printed = [dump_log(folder.glob("*.log"), "--deep-iteration") for folder in places]
    offsets = [[int(offset) for offset in RECORD_LINE.findall(text)] for text in printed]
    assert offsets[0] == list(range(len(offsets[0])))
    assert offsets[1:] == offsets[:1] * 2
    for text, folder in zip(printed, places, strict=True):
        assert set(BATCH_LINE.findall(text)) == {"true"}, folder
        assert_no_complaint(text)
        if indexes := list(folder.glob("*.index")):  # of rolled segments
            assert_no_complaint(dump_log(indexes, "--deep-iteration"))
    return EPOCH_LINE.findall(printed[0])


@pytest.mark.spec("slides:B03", "slides:B04")
def test_replicas_are_byte_identical_after_load(dump_log: DumpLog, cluster: Cluster) -> None:
    """What the leader has, each follower has: the same bytes in the same order, segment by
    segment sound.
    """
    topic = made(cluster, "loaded")
    with connected(cluster, leader_of(cluster, topic)) as connection:
        load(connection, topic, rounds=15)
    assert_replicas_agree(cluster, topic)
    assert all(len(list(folder.glob("*.log"))) > 1 for folder in folders(cluster, topic))
    assert_dumps_agree(dump_log, folders(cluster, topic))


def test_replicas_are_byte_identical_after_a_leader_died(
    dump_log: DumpLog, cluster: Cluster
) -> None:
    """A new leader goes on in a new epoch; the old one comes back and has what the others have."""
    topic = made(cluster, "failed-over")
    first = leader_of(cluster, topic)
    with connected(cluster, first) as connection:
        load(connection, topic, rounds=3)
        before = high_watermark(connection, topic)
    cluster.broker(first).kill()
    second = await_state(cluster, topic, lambda leader, isr: leader not in (first, -1))
    with connected(cluster, second) as connection:
        assert high_watermark(connection, topic) == before
        load(connection, topic, rounds=3)
    cluster.broker(first).start()
    batches = assert_replicas_agree(cluster, topic)
    epochs = assert_dumps_agree(dump_log, folders(cluster, topic))
    assert len(batches) == len(epochs)
    assert epochs == sorted(epochs, key=int)
    assert len(set(epochs)) >= 2


@pytest.mark.spec("admin:RC-17")
def test_a_tail_that_only_the_dead_leader_had_is_cut_off(
    dump_log: DumpLog, cluster: Cluster
) -> None:
    """Records acknowledged by the leader alone give way to those of the next leader."""
    topic = made(cluster, "truncated")
    first = leader_of(cluster, topic)
    followers = [broker for broker in cluster.brokers if broker.id != first]
    with connected(cluster, first) as connection:
        load(connection, topic, rounds=1)
        _frozen(followers, True)
        try:
            # A fetch that is parked at the leader takes the first record along, into the socket
            # of a follower that will read it when it wakes up. Nobody asks for the others.
            for key in (b"bait", b"lost", b"lost", b"lost"):
                tail = batch_of([Record(key, incompressible(30_000), 0)])
                answer = produced_bytes(connection, topic, tail, acks=LEADER)
                assert answer.error_code == Error.NONE
            cluster.broker(first).kill()
        finally:
            _frozen(followers, False)
    lost = (cluster.broker(first).log_dir / f"{topic}-0").glob("*.log")
    assert any(b"lost" in segment.read_bytes() for segment in lost)
    second = await_state(cluster, topic, lambda leader, isr: leader not in (first, -1))
    with connected(cluster, second) as connection:
        load(connection, topic, rounds=2)
    cluster.broker(first).start()
    batches = assert_replicas_agree(cluster, topic)
    assert not any(b"lost" in batch for batch in batches)
    _await_no_tail(cluster, topic, len(batches))
    assert_dumps_agree(dump_log, folders(cluster, topic))


def _frozen(brokers: Sequence[ClusterBroker], frozen: bool) -> None:
    for broker in brokers:
        os.kill(broker.pid, signal.SIGSTOP if frozen else signal.SIGCONT)


def _await_no_tail(cluster: Cluster, topic: str, batches: int) -> None:
    """Until nothing lies above the high watermark anywhere."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        counts = [len(below(folder, 1 << 62)) for folder in folders(cluster, topic)]
        if counts == [batches] * 3:
            return
        time.sleep(0.05)
    raise AssertionError(f"{counts} batches, and {batches} are committed")
