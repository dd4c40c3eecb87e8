"""Followers that fetch from real listeners over real sockets into real logs."""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.storage import fetchers
from headrace.cluster.config_owners import OwnerKind, broker_owner
from headrace.cluster.image import BrokerRegistration, ConfigChanged, Endpoint, TopicDeleted
from headrace.replica.partition import Partition
from headrace.runtime.os_disk import OsDisk, OsFile
from headrace.types import TopicPartition
from headrace.wire.messages.fetch import FetchRequest, FetchResponse
from tests.broker.replication.fake_broker import LISTENER, fake_broker, run
from tests.broker.replication.nodes import TOPIC, Nodes, committed, nodes, until
from tests.log.logs import batch
from tests.settings import log_config


def content(partition: Partition) -> bytes:
    log = partition.log
    if log.log_start_offset == log.log_end_offset:
        return b""
    return bytes(log.read(log.log_start_offset, 1 << 30, up_to=log.log_end_offset).data())


def write(partition: Partition, count: int = 1, **options: Any) -> int:
    """Append records as their leader; returns the log's end."""
    partition.append(batch(count, **options), acks=-1, now_ms=1_700_000_000_000)
    return partition.log.log_end_offset


class BrokenFile:
    """A file on a disk that has just died."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def append(self, _chunks: Any) -> int:
        raise OSError(errno.EIO, "Input/output error")


class SlowFile:
    """A file on a disk that syncs only when it is let."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.syncs = threading.Event()
        self.may_sync = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def sync(self) -> None:
        self.syncs.set()
        self.may_sync.wait(20)
        self._file.sync()


class BusyDisk(OsDisk):
    """A disk for which the process has no descriptor left at times."""

    has_descriptors = True
    refusals = 0

    def _take_descriptor(self, path: str) -> None:
        if not self.has_descriptors:
            self.refusals += 1
            raise OSError(errno.EMFILE, "Too many open files", path)

    def open(self, path: str, *, create: bool = False) -> OsFile:
        self._take_descriptor(path)
        return super().open(path, create=create)

    def sync_folder(self, path: str) -> None:
        self._take_descriptor(path)
        super().sync_folder(path)


def pair(cluster: Nodes, **config: Any) -> tuple[Partition, Partition]:
    """A topic led by 1 and followed by 2."""
    cluster.topic(1, [1, 2])
    settings = log_config(**config)
    return cluster[1].take_role(config=settings), cluster[2].take_role(config=settings)


@pytest.mark.spec("slides:B03", "slides:B04", "slides:B09")
def test_a_follower_copies_its_leader_byte_for_byte(tmp_path: Path) -> None:
    """What the leader appends is committed when the follower has it, and both logs are equal."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster)
            for count in (1, 10, 100):
                end = write(leader, count)
                await committed(leader, end)
                assert follower.log.log_end_offset == end
            await committed(follower, 111)
            assert content(leader) == content(follower)

    run(story())


def test_a_large_backlog_is_fetched_in_limited_answers(tmp_path: Path) -> None:
    """A follower that comes late catches up, however small its fetches, without a damaged batch."""

    async def story() -> None:
        async with nodes(
            tmp_path, replica_fetch_max_bytes=20_000, replica_fetch_response_max_bytes=30_000
        ) as cluster:
            cluster.topic(1, [1, 2], isr=[1])
            leader = cluster[1].take_role()
            for _ in range(50):
                write(leader, 10, size=1000)
            follower = cluster[2].take_role()
            await committed(follower, 500)
            assert content(leader) == content(follower)

    run(story())


@pytest.mark.spec("slides:B24")
def test_several_fetchers_share_the_partitions_of_a_leader(tmp_path: Path) -> None:
    """With num.replica.fetchers=3 as many conversations carry the partitions of one leader."""

    async def story() -> None:
        async with nodes(tmp_path, num_replica_fetchers=3) as cluster:
            topics = [f"topic-{number}" for number in range(12)]
            for name in topics:
                cluster.topic(1, [1, 2], name)
                cluster[1].take_role(name)
                cluster[2].take_role(name)
            for name in topics:
                leader = cluster[1].partition(name)
                await committed(leader, write(leader))
            assert len(cluster[1].listener.connections) == 3

    run(story())


def test_the_number_of_fetchers_may_change(tmp_path: Path) -> None:
    """Partitions that are followed already are spread over as many conversations as are set."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            topics = [f"topic-{number}" for number in range(12)]
            for name in topics:
                cluster.topic(1, [1, 2], name)
                cluster[1].take_role(name)
                cluster[2].take_role(name)
            for name in topics:
                leader = cluster[1].partition(name)
                await committed(leader, write(leader))
            assert len(cluster[1].listener.connections) == 1
            fetchers = cluster[2].fetchers
            config, change = fetchers.config(), {"num.replica.fetchers": "3"}
            fetchers.config = lambda: config.with_dynamic({}, change)
            fetchers.on_changes([ConfigChanged(broker_owner(None), change)])
            for name in topics:
                leader = cluster[1].partition(name)
                await committed(leader, write(leader))
            await until(lambda: len(cluster[1].listener.connections) == 3)

    run(story())


def test_a_dead_leader_is_found_again_when_it_returns(tmp_path: Path) -> None:
    """The follower outlives its leader, says so once, and goes on when the leader is back."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster)
            await committed(leader, write(leader))
            port = await cluster.stop(1)
            await cluster.start(1, port=port)
            cluster.elect(1)
            leader = cluster[1].take_role()
            cluster[2].take_role()
            await committed(leader, write(leader))
            assert content(leader) == content(follower)

    run(story())


def test_a_clock_that_is_set_back_does_not_prolong_a_pause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A follower that has lost its leader asks again after its back-off, whatever the time is."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster)
            await committed(leader, write(leader))
            await cluster.stop(1)
            await until(lambda: "Error in fetch" in caplog.text)
            cluster.clock.set_by_ms = -3_600_000
            await cluster.start(1)
            leader = cluster[1].take_role()
            await committed(leader, write(leader))
            assert content(leader) == content(follower)

    run(story())


def test_a_leader_that_moved_is_fetched_at_its_new_address(tmp_path: Path) -> None:
    """A leader that registers with another port is found there without any other news."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster)
            await committed(leader, write(leader))
            await cluster.stop(1)
            await cluster.start(1)
            leader = cluster[1].take_role()
            await committed(leader, write(leader))
            assert content(leader) == content(follower)

    run(story())


@pytest.mark.spec("admin:RC-17")
def test_a_new_leader_makes_the_old_one_cut_what_only_it_had(tmp_path: Path) -> None:
    """A deposed leader follows, cuts what nobody else has, and ends with the new leader's log."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            first, second = pair(cluster)
            await committed(first, write(first))
            cluster[2].fetchers.leave(second.topic_partition)
            write(first, 5)  # only on broker 1
            cluster.elect(2)
            cluster[2].take_role()
            write(second, 2, size=33)
            cluster[1].take_role()
            await committed(second, write(second, size=44))
            assert content(first) == content(second)
            assert first.log.leader_epochs.latest_epoch == 1

    run(story())


def test_a_cut_that_cannot_be_noted_holds_the_follower_up_and_costs_no_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Out of descriptors, neither the new recovery points can be written nor the old ones be
    forgotten for good. Nothing is appended until one of both is possible: a crash would believe
    that the new records were flushed.
    """
    monkeypatch.setattr(fetchers, "_NOTE_AGAIN_S", 0.01)

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            first, second = pair(cluster)
            await committed(first, write(first))
            cluster[2].fetchers.leave(second.topic_partition)
            write(first, 5)  # only on broker 1
            cluster.elect(2)
            cluster[2].take_role()
            end = write(second, 2, size=33)
            (directory,) = cluster[1].storage.directories
            disk = BusyDisk()
            monkeypatch.setattr(directory, "_disk", disk)
            disk.has_descriptors = False
            cluster[1].take_role()
            await until(lambda: disk.refusals >= 6)  # tried again, and again
            assert directory.online
            assert first.log.log_end_offset == 1
            disk.has_descriptors = True
            await committed(second, end)
            assert content(first) == content(second)
            noted = (tmp_path / "1" / "recovery-point-offset-checkpoint").read_text()
            assert noted.splitlines()[2:] == ["orders 0 0"]

    run(story())


def test_a_follower_that_is_told_before_its_leader_waits_only_a_moment(tmp_path: Path) -> None:
    """News of a leader reach the follower first: it asks again long before its pause is over."""

    async def story() -> None:
        async with nodes(tmp_path, replica_fetch_backoff_ms=60_000) as cluster:
            cluster.topic(1, [1, 2])
            cluster.image.topic_names.clear()  # broker 1 has not heard of it
            follower = cluster[2].take_role()
            await until(lambda: bool(cluster[1].listener.connections))
            await asyncio.sleep(0.1)
            cluster.image.topic_names[cluster.image.topics[TOPIC].id] = TOPIC
            leader = cluster[1].take_role()
            await committed(leader, write(leader))
            assert content(leader) == content(follower)

    run(story())


def test_leaving_stops_the_copying_and_following_again_resumes_it(tmp_path: Path) -> None:
    """A partition that is not followed gets nothing; its neighbours go on meanwhile."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster)
            cluster.topic(1, [1, 2], "other")
            other = cluster[1].take_role("other")
            cluster[2].take_role("other")
            await committed(leader, write(leader))
            cluster[2].fetchers.leave(follower.topic_partition)
            write(leader)
            await committed(other, write(other))
            await committed(other, write(other))
            assert follower.log.log_end_offset == 1
            cluster[2].fetchers.follow(follower)
            await committed(leader, 2)

    run(story())


def test_a_deleted_topic_does_not_disturb_the_others(tmp_path: Path) -> None:
    """Whoever hears of a deletion last is told by the leader, and goes on with the rest."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, _ = pair(cluster)
            gone = cluster.topic(1, [1, 2], "gone")
            doomed = cluster[1].take_role("gone")
            cluster[2].take_role("gone")
            await committed(doomed, write(doomed))
            cluster.image.apply([TopicDeleted(gone)])
            cluster[1].storage.withdraw([gone])
            cluster[1].storage.delete(TopicPartition("gone", 0))
            await committed(leader, write(leader))
            cluster[2].storage.withdraw([gone])
            cluster[2].storage.delete(TopicPartition("gone", 0))
            await committed(leader, write(leader))

    run(story())


def test_what_a_commit_writes_elsewhere_reaches_the_follower_that_made_it(tmp_path: Path) -> None:
    """A fetch commits a record, which lets something be written to a partition that this fetch has
    already looked at: the follower gets it at once and not after its long poll.
    """

    async def story() -> None:
        async with nodes(
            tmp_path, replica_fetch_wait_max_ms=15_000, replica_socket_timeout_ms=20_000
        ) as cluster:
            for name in ("first", "second", "third"):
                cluster.topic(1, [1, 2], name)
                cluster[1].take_role(name)
                cluster[2].take_role(name)
            first, second, third = (
                cluster[1].partition(name) for name in ("first", "second", "third")
            )
            await committed(first, write(first))
            for cause in (first, second, third):
                others = [each for each in (first, second, third) if each is not cause]

                def write_others(others: list[Partition] = others) -> None:
                    for each in others:
                        write(each)

                cause.when_committed(write(cause), write_others)
                async with asyncio.timeout(2):
                    await committed(cause, cause.log.log_end_offset)
                    for each in others:
                        await committed(each, each.log.log_end_offset)

    run(story(), 30)


def test_a_follower_that_has_everything_stays_in_sync_without_an_answer(tmp_path: Path) -> None:
    """Fetches that bring nothing still tell the leader that the follower is alive and caught up."""

    async def story() -> None:
        async with nodes(tmp_path, replica_fetch_wait_max_ms=10) as cluster:
            leader, _ = pair(cluster)
            await committed(leader, write(leader))
            follower = leader.followers[2]
            before_ms = follower.last_fetch_ms
            await until(lambda: follower.last_fetch_ms > before_ms + 30)
            assert follower.last_caught_up_ms == follower.last_fetch_ms
            # A later registration of the same broker is news even if its position is not.
            cluster[2].fetchers.rejoin(77)
            await until(lambda: follower.broker_epoch == 77)

    run(story())


def test_a_new_partition_does_not_wait_for_a_long_poll(tmp_path: Path) -> None:
    """A topic that is created while its follower polls the same leader is copied at once."""

    async def story() -> None:
        async with nodes(
            tmp_path, replica_fetch_wait_max_ms=15_000, replica_socket_timeout_ms=20_000
        ) as cluster:
            leader, _ = pair(cluster)
            await committed(leader, write(leader))
            await until(lambda: bool(leader.replica_waiters))
            cluster.topic(1, [1, 2], "new")
            new = cluster[1].take_role("new")
            follower = cluster[2].take_role("new")
            async with asyncio.timeout(2):
                await committed(new, write(new))
                await committed(leader, write(leader))
            assert content(new) == content(follower)

    run(story())


def test_a_follower_flushes_before_it_counts(tmp_path: Path) -> None:
    """With flush.messages=1 a record is committed only when the follower's disk has it."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster, flush_messages=1)
            end = write(leader)
            cluster[1].storage.flush(leader)
            await committed(leader, end)
            assert follower.log.recovery_point == end

    run(story())


def test_a_flush_of_a_partition_that_has_left_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fetcher waits for a slow disk, and goes on when the partition is not its any more."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster, flush_messages=1)
            cluster.topic(1, [1, 2], "other")
            other = cluster[1].take_role("other")
            cluster[2].take_role("other")
            await committed(other, write(other))
            active = follower.log.segments.active
            disk = SlowFile(active.log)
            monkeypatch.setattr(active, "_log", disk)
            try:
                write(leader)
                await until(disk.syncs.is_set)
                cluster[2].fetchers.leave(follower.topic_partition)
                await committed(other, write(other))
                assert follower.flush_pending
            finally:
                disk.may_sync.set()

    run(story())


def test_a_failing_disk_stops_its_own_partitions_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower whose directory fails takes its partitions offline, and the task lives on."""

    async def story() -> None:
        async with nodes(tmp_path) as cluster:
            leader, follower = pair(cluster)
            await committed(leader, write(leader))

            lost: list[Any] = []
            cluster[2].storage.on_lost = lost.extend
            active = follower.log.segments.active
            monkeypatch.setattr(active, "_log", BrokenFile(active.log))
            write(leader)
            await until(lambda: bool(follower.offline_reason))
            assert lost == [follower.topic_partition]

    run(story())


def test_a_leader_that_answers_nonsense_is_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer that is no answer ends the connection; the follower comes back, and says why."""

    async def story() -> None:
        async def nonsense(_request: FetchRequest) -> bytes:
            return b"\x00\x00\x00\x09not kafka"

        async with nodes(tmp_path, [2]) as cluster, fake_broker({FetchRequest: nonsense}) as fake:
            register(cluster, fake.port)
            cluster.topic(1, [1, 2])
            cluster[2].take_role()
            await fake.until(lambda: len(fake.connections) == 3)

    with caplog.at_level(logging.INFO, "kafka"):
        run(story())
    told = [each.getMessage() for each in caplog.records if "Error in fetch" in each.getMessage()]
    assert len(told) == 1, "an outage is told once"
    assert "[ReplicaFetcher replicaId=2, leaderId=1, fetcherId=0]" in told[0]


def test_a_silent_leader_is_given_up_after_the_socket_time_out(tmp_path: Path) -> None:
    """A leader that takes a request and never answers is asked over a new connection."""

    async def story() -> None:
        async def silence(_request: FetchRequest) -> FetchResponse:
            await asyncio.Event().wait()
            raise AssertionError

        async with (
            nodes(tmp_path, [2], replica_socket_timeout_ms=150) as cluster,
            fake_broker({FetchRequest: silence}) as fake,
        ):
            register(cluster, fake.port)
            cluster.topic(1, [1, 2])
            cluster[2].take_role()
            await fake.until(lambda: len(fake.connections) == 2)

    run(story())


def test_the_request_names_the_follower_and_its_life(tmp_path: Path) -> None:
    """Fetches carry replica id, broker epoch and limits; after a new registration the new epoch."""

    async def story() -> None:
        async def empty(_request: FetchRequest) -> FetchResponse:
            await asyncio.sleep(0.005)
            return FetchResponse(error_code=0, session_id=7, responses=[])

        async with nodes(tmp_path, [2]) as cluster, fake_broker({FetchRequest: empty}) as fake:
            register(cluster, fake.port)
            cluster.topic(1, [1, 2])
            cluster[2].take_role()
            await fake.until(lambda: len(fake.heard) == 4)
            client_id, version, first = fake.heard[1]
            assert (client_id, version) == ("broker-2-fetcher-0", 18)
            assert (first.replica_state.replica_id, first.replica_state.replica_epoch) == (2, 2)
            assert (first.max_wait_ms, first.min_bytes, first.max_bytes) == (100, 1, 10485760)
            assert first.topics[0].partitions[0].partition_max_bytes == 1048576
            assert fake.heard[2][2].session_id == 7, "the session goes on"
            assert not fake.heard[2][2].topics, "nothing new is asked"
            cluster[2].fetchers.rejoin(99)
            await fake.until(lambda: fake.heard[-1][2].replica_state.replica_epoch == 99)

    run(story())


def test_a_throttled_follower_waits_for_its_quota(tmp_path: Path) -> None:
    """A lagging replica on the topic's list copies no faster than the broker's rate allows."""

    async def story() -> None:
        async with nodes(tmp_path, replica_fetch_max_bytes=10_000) as cluster:
            cluster.topic(1, [1, 2], isr=[1])
            cluster.image.configs[OwnerKind.TOPIC][TOPIC] = {
                "follower.replication.throttled.replicas": "0:2"
            }
            cluster.image.configs[OwnerKind.BROKER]["2"] = {
                "follower.replication.throttled.rate": "2000"
            }
            leader = cluster[1].take_role()
            for _ in range(20):
                write(leader, 10, size=1000)
            follower = cluster[2].take_role()
            await until(lambda: follower.log.log_end_offset > 0)
            await asyncio.sleep(0.3)
            behind = follower.log.log_end_offset
            assert behind < 100, "the quota of eleven seconds is used up by then"
            cluster.image.configs[OwnerKind.BROKER]["2"] = {}
            await committed(follower, 200)

    run(story())


def register(cluster: Nodes, port: int) -> None:
    cluster.image.brokers[1] = BrokerRegistration(1, {LISTENER: Endpoint("127.0.0.1", port)})
