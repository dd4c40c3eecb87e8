"""A few replicas of one partition on disks in memory, and the least of a cluster around them.

Everything happens when a test says so: one round trip of a follower, an election, a change of the
in-sync replicas in its two halves. Requests and answers go through their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from headrace.errors import ClientFault, Error
from headrace.log import LogConfig, LogSlice, PartitionLog
from headrace.records.batch import split_batches
from headrace.records.builder import BatchBuilder
from headrace.records.record import iterate
from headrace.replica import (
    Fetched,
    Leadership,
    Partition,
    ReplicaFetch,
    ReplicaFetcher,
)
from headrace.replica.fetch_session import FetchKey
from headrace.testing import MemoryDisk
from headrace.types import TopicPartition
from headrace.wire import decode, encode_bytes
from headrace.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tests.settings import log_config

ORDERS: Final = TopicPartition("orders", 0)
TOPIC_ID: Final = UUID(int=7)
START_MS: Final = 1_700_000_000_000
LAG_TIME_MAX_MS: Final = 30_000
FOLDER: Final = "/data/orders-0"
FETCH_VERSION: Final = 17
_NOBODY: Final = -1


def batch(value: str, **options: int) -> memoryview:
    """One record, in a batch of its own."""
    builder = BatchBuilder(**options)  # type: ignore[arg-type]
    builder.append(None, value.encode(), START_MS)
    return memoryview(builder.build())


class Replica:
    """One broker with its disk; what outlives its process is the disk and its checkpoint."""

    def __init__(self, broker_id: int, config: LogConfig) -> None:
        self.id = broker_id
        self.epoch = broker_id  # of its registration
        self.config = config
        self.disk = MemoryDisk(folders=["/data"])
        self.is_alive = True
        self.hears = True
        self.checkpointed = (0, 0, 0)  # recovery point, log start, high watermark
        self.sessions: dict[int, Session] = {}
        self.fetcher: ReplicaFetcher | None = None
        log = PartitionLog.create(self.disk, FOLDER, ORDERS, TOPIC_ID, config, START_MS)
        self.partition = Partition(ORDERS, TOPIC_ID, log, broker_id=broker_id)

    @property
    def log(self) -> PartitionLog:
        return self.partition.log

    def values(self, start: int | None = None, end: int | None = None) -> list[str]:
        """The records' values from one offset to another; all of them if nothing is said."""
        log = self.log
        start = log.log_start_offset if start is None else start
        end = log.log_end_offset if end is None else end
        return _values(lambda offset: log.read(offset, 1 << 20, up_to=end), start, end)

    def readable(self) -> list[str]:
        """What a client could read."""
        partition = self.partition
        return _values(
            lambda offset: partition.read(offset, 1 << 20, committed_only=False, at_least_one=True),
            self.log.log_start_offset,
            self.log.log_end_offset,
        )

    def data(self, end: int) -> bytes:
        """The bytes of all batches below an offset."""
        log = self.log
        found = b""
        start = log.log_start_offset
        while start < end:
            records = log.read(start, 1 << 20, up_to=end).data()
            if not records:
                break
            found += records
            headers = [each for each, _ in split_batches(memoryview(records))]
            start = headers[-1].last_offset + 1
        return found

    def checkpoint(self) -> None:
        log = self.log
        self.checkpointed = (log.recovery_point, log.log_start_offset, log.high_watermark)

    def flush(self) -> None:
        self.log.flush()
        self.partition.on_flushed(self.log.log_end_offset)

    def kill(self) -> None:
        """The process ends; what it wrote is in its files."""
        self.is_alive = False
        self.partition.take_offline("the process is gone")
        self.sessions.clear()
        self.fetcher = None

    def crash(self) -> None:
        """The machine loses power, and with it what was not synced."""
        self.kill()
        self.disk = self.disk.crash()

    def start(self) -> None:
        recovery_point, log_start_offset, high_watermark = self.checkpointed
        if not self.disk.exists(FOLDER):
            self.disk.make_folder("/data")
            log = PartitionLog.create(self.disk, FOLDER, ORDERS, TOPIC_ID, self.config, START_MS)
        else:
            log = PartitionLog.open(
                self.disk,
                FOLDER,
                ORDERS,
                self.config,
                recovery_point=recovery_point,
                log_start_offset=log_start_offset,
                clean=False,
                now_ms=START_MS,
            )
        log.high_watermark = high_watermark
        self.partition = Partition(ORDERS, TOPIC_ID, log, broker_id=self.id)
        self.is_alive = True
        self.epoch += 10


def _values(read: Callable[[int], LogSlice], start: int, end: int) -> list[str]:
    found: list[str] = []
    while start < end and (records := read(start)):
        for header, view in split_batches(memoryview(records.data()), allow_partial_tail=True):
            found += [
                (record.value or b"").decode()
                for record in iterate(header, view)
                if start <= record.offset < end
            ]
            start = header.last_offset + 1
    return found


class Session:
    """What a leader remembers of a follower's conversation, as far as these tests need it."""

    def __init__(self, session_id: int) -> None:
        self.id = session_id
        self.epoch = 1
        self.partitions: dict[FetchKey, FetchPartition] = {}

    def update(self, request: FetchRequest) -> None:
        for topic in request.topics:
            for asked in topic.partitions:
                self.partitions[FetchKey(topic.topic_id, asked.partition)] = asked
        for gone in request.forgotten_topics_data:
            for index in gone.partitions:
                self.partitions.pop(FetchKey(gone.topic_id, index), None)


def answer(leader: Replica, request: FetchRequest, now_ms: int) -> FetchResponse:
    """A broker's side of one fetch by a follower."""
    state = request.replica_state
    assert state is not None
    session = leader.sessions.get(state.replica_id)
    if request.session_epoch == 0:
        session = leader.sessions[state.replica_id] = Session(leader.epoch * 1000 + now_ms % 1000)
    elif session is None or session.id != request.session_id:
        return FetchResponse(error_code=Error.FETCH_SESSION_ID_NOT_FOUND, responses=[])
    elif session.epoch != request.session_epoch:
        return FetchResponse(error_code=Error.INVALID_FETCH_SESSION_EPOCH, responses=[])
    else:
        session.epoch += 1
    session.update(request)
    answers = [
        FetchableTopicResponse(
            topic_id=key.topic_id,
            partitions=[_answer(leader, asked, state.replica_id, state.replica_epoch, now_ms)],
        )
        for key, asked in session.partitions.items()
    ]
    return FetchResponse(session_id=session.id, responses=answers)


def _answer(
    leader: Replica, asked: FetchPartition, broker_id: int, broker_epoch: int, now_ms: int
) -> PartitionData:
    data = PartitionData(
        partition_index=asked.partition, error_code=0, high_watermark=-1, records=None
    )
    fetch = ReplicaFetch(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        offset=asked.fetch_offset,
        last_fetched_epoch=asked.last_fetched_epoch,
        log_start_offset=asked.log_start_offset,
    )
    try:
        leader.partition.check_leader_epoch(asked.current_leader_epoch)
        read = leader.partition.read_for_replica(
            fetch, asked.partition_max_bytes, at_least_one=True, now_ms=now_ms
        )
    except ClientFault as fault:
        data.error_code = fault.error
        return data
    data.error_code = read.error
    data.high_watermark = read.high_watermark
    data.last_stable_offset = read.last_stable_offset
    data.log_start_offset = read.log_start_offset
    if read.diverging is not None:
        data.diverging_epoch = EpochEndOffset(
            epoch=read.diverging.epoch, end_offset=read.diverging.end_offset
        )
    elif read.records is not None:
        data.records = memoryview(read.records.data())
    return data


class Cluster:
    """The replicas, and the state of their partition as everybody would read it from the tree."""

    def __init__(self, *broker_ids: int, config: LogConfig | None = None) -> None:
        self.now_ms = START_MS
        config = config or log_config()
        self.replicas = {each: Replica(each, config) for each in broker_ids}
        self.state = Leadership(_NOBODY, -1, -1, broker_ids, broker_ids)
        self.max_bytes = 1 << 20

    def __getitem__(self, broker_id: int) -> Replica:
        return self.replicas[broker_id]

    @property
    def leader(self) -> Replica:
        return self.replicas[self.state.leader]

    @property
    def epochs(self) -> dict[int, int]:
        """The registered brokers."""
        return {each.id: each.epoch for each in self.replicas.values() if each.is_alive}

    # -- the tree ---------------------------------------------------------------------------------

    def commit(self, state: Leadership) -> None:
        """Write a new state; everybody who hears applies it."""
        self.state = replace(state, partition_epoch=self.state.partition_epoch + 1)
        for replica in self.replicas.values():
            if replica.is_alive and replica.hears:
                self.apply(replica)

    def apply(self, replica: Replica) -> None:
        """A broker reads the present state."""
        if self.state.leader == replica.id:
            replica.fetcher = None
            replica.partition.lead(self.state, self.now_ms)
            return
        replica.sessions.clear()
        replica.partition.follow(self.state)
        fetcher = replica.fetcher
        if fetcher is None or fetcher.leader_id != self.state.leader:
            fetcher = replica.fetcher = self.new_fetcher(replica)
        fetcher.add(replica.partition)

    def new_fetcher(self, replica: Replica) -> ReplicaFetcher:
        return ReplicaFetcher(
            broker_id=replica.id,
            broker_epoch=replica.epoch,
            leader_id=self.state.leader,
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=10 << 20,
            partition_max_bytes=self.max_bytes,
            backoff_ms=1000,
        )

    def elect(self, broker_id: int, isr: Sequence[int] | None = None) -> None:
        """The next leader epoch begins, with the committed in-sync replicas that are alive unless
        others are given (which is unclean if the new leader was none of them).
        """
        if isr is None:
            isr = [each for each in self.state.isr if self.replicas[each].is_alive]
        self.commit(
            replace(
                self.state,
                leader=broker_id,
                leader_epoch=self.state.leader_epoch + 1,
                isr=tuple(isr),
            )
        )

    def lose(self, broker_id: int) -> None:
        """The controller hears that a broker is gone: out of the ISR, and another one leads."""
        isr = tuple(each for each in self.state.isr if each != broker_id)
        if not isr:
            isr = self.state.isr
        if self.state.leader != broker_id:
            self.commit(replace(self.state, isr=isr))
            return
        alive = [each for each in self.state.replicas if each in isr and self[each].is_alive]
        if alive:
            self.elect(alive[0], isr)
        else:
            self.elect(_NOBODY, isr)

    def start(self, broker_id: int) -> None:
        """A broker comes back: it gives up what it was, registers, and gets what it may have."""
        replica = self[broker_id]
        replica.start()
        replica.hears = True
        if broker_id in self.state.isr and len(self.state.isr) > 1:
            self.lose(broker_id)
        elif self.state.leader == broker_id:
            self.elect(_NOBODY, self.state.isr)
        if self.state.leader == _NOBODY and broker_id in self.state.isr:
            self.elect(broker_id, [broker_id])
        else:
            self.apply(replica)

    def settle_isr(self) -> tuple[int, ...] | None:
        """The leader looks at its followers and commits the in-sync replicas that it wants."""
        partition = self.leader.partition
        wanted = partition.wanted_isr(
            self.now_ms, lag_time_max_ms=LAG_TIME_MAX_MS, broker_epochs=self.epochs
        )
        if wanted is not None:
            partition.propose_isr(wanted)
            self.commit(replace(self.state, isr=wanted))
        return wanted

    # -- replication ------------------------------------------------------------------------------

    def fetch(self, broker_id: int) -> Fetched | None:
        """One round trip of a follower to its leader; None if it has nothing to ask, or nobody."""
        replica = self[broker_id]
        fetcher = replica.fetcher
        if fetcher is None or fetcher.leader_id == _NOBODY:
            return None
        request = fetcher.next_request(self.now_ms)
        if request is None:
            return None
        leader = self[fetcher.leader_id]
        if not leader.is_alive:
            fetcher.on_lost(self.now_ms)
            return None
        sent = decode(FetchRequest, FETCH_VERSION, encode_bytes(request, FETCH_VERSION))
        response = answer(leader, sent, self.now_ms)
        data = encode_bytes(response, FETCH_VERSION)
        fetched = fetcher.on_response(decode(FetchResponse, FETCH_VERSION, data), self.now_ms)
        assert not fetched.violated, fetched.violated
        if fetched.truncated:
            replica.checkpoint()
        return fetched

    def replicate(self, rounds: int = 12) -> None:
        """Let every living follower fetch until nobody has anything to gain."""
        for _ in range(rounds):
            self.now_ms += 1001  # whoever pauses goes on
            for replica in self.replicas.values():
                if replica.is_alive:
                    if replica.partition.flush_pending:
                        replica.flush()
                    self.fetch(replica.id)
            if self.state.leader != _NOBODY and self.leader.is_alive:
                self.settle_isr()
