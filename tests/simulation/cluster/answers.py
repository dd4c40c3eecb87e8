"""What brokers answer to producers and readers, compared with what is committed.

An answer is noted when it leaves, and judged when the turn of its broker is over: by then the
witness has seen how far the high watermark has come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from headrace.errors import Error
from headrace.records.batch import BatchHeader, read_header, split_batches
from headrace.records.control import parse_control
from headrace.records.record import iterate
from headrace.replica.partition import Partition
from headrace.testing.simulated_network import SimulatedCall
from headrace.types import TopicPartition
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.produce import ProduceRequest
from tests.simulation.cluster.committed import Batch, CommittedLog
from tests.simulation.cluster.law import Law
from tests.simulation.cluster.promises import Promises
from tests.simulation.failure import check
from tests.simulation.reading import VisibleRecord

_READ_COMMITTED: Final = 1
_ALL: Final = -1
_TRANSACTIONS: Final = "__transaction_state"


class Acknowledged(NamedTuple):
    """A write that was acknowledged with acks=all."""

    where: TopicPartition
    base_offset: int
    header: BatchHeader
    client: str
    server: int


class Read(NamedTuple):
    """Records that a client was given."""

    where: TopicPartition
    offset: int
    is_committed_only: bool
    records: memoryview
    aborted: list[tuple[int, int]]
    client: str
    server: int


class Answers:
    """See the module."""

    def __init__(
        self,
        committed: Mapping[TopicPartition, CommittedLog],
        law: Law,
        promises: Promises,
        *,
        holders: Callable[[TopicPartition, int], list[int]],
        min_in_sync: Callable[[str], int],
        is_overtaken: Callable[[TopicPartition, int], bool],
    ) -> None:
        self._committed = committed
        self._law = law
        self._promises = promises
        self._holders = holders
        self._min_in_sync = min_in_sync
        self._is_overtaken = is_overtaken
        self._acknowledged: list[Acknowledged] = []
        self._reads: list[Read] = []

    def note(self, call: SimulatedCall, response: Any, replicas: Mapping[Any, Partition]) -> None:
        """An answer to a client leaves a broker that has these replicas."""
        if isinstance(call.request, FetchRequest):
            topic = call.request.topics[0]
            where = TopicPartition(topic.topic, topic.partitions[0].partition)
            if self._is_present(where, replicas):
                self._note_read(call, response)
        elif isinstance(call.request, ProduceRequest) and call.request.acks == _ALL:
            data = call.request.topic_data[0]
            where = TopicPartition(data.name, data.partition_data[0].index)
            if self._is_present(where, replicas):
                self._note_acknowledged(call, response)

    def _is_present(self, where: TopicPartition, replicas: Mapping[Any, Partition]) -> bool:
        """Whether a replica is of the topic that has this name now, and not of one before it."""
        replica, committed = replicas.get(where), self._committed.get(where)
        return (
            replica is not None and committed is not None and replica.topic_id == committed.topic_id
        )

    def settle(self) -> None:
        """Judge what has left."""
        if self._acknowledged:
            acknowledged, self._acknowledged = self._acknowledged, []
            for each in acknowledged:
                self._check_acknowledged(each)
        if self._reads:
            reads, self._reads = self._reads, []
            for read in reads:
                self._check_read(read)

    def _note_acknowledged(self, call: SimulatedCall, response: Any) -> None:
        for topic, answers in zip(call.request.topic_data, response.responses, strict=True):
            for data, answer in zip(topic.partition_data, answers.partition_responses, strict=True):
                if answer.error_code == Error.NONE:
                    where = TopicPartition(topic.name, data.index)
                    header = read_header(data.records)
                    self._acknowledged.append(
                        Acknowledged(
                            where, answer.base_offset, header, call.client_id, server_of(call)
                        )
                    )

    def _note_read(self, call: SimulatedCall, response: Any) -> None:
        request: FetchRequest = call.request
        asked = request.topics[0].partitions[0]
        where = TopicPartition(request.topics[0].topic, asked.partition)
        for topic in response.responses:
            for answer in topic.partitions:
                if answer.error_code == Error.OFFSET_OUT_OF_RANGE:
                    self._check_range(call, where, asked.fetch_offset)
                if answer.error_code or not answer.records:
                    continue
                aborted = [
                    (each.first_offset, each.producer_id)
                    for each in answer.aborted_transactions or ()
                ]
                self._reads.append(
                    Read(
                        where,
                        asked.fetch_offset,
                        request.isolation_level == _READ_COMMITTED,
                        answer.records,
                        aborted,
                        call.client_id,
                        server_of(call),
                    )
                )

    def _check_range(self, call: SimulatedCall, where: TopicPartition, offset: int) -> None:
        committed, state = self._committed.get(where), self._law.states.get(where)
        server = server_of(call)
        if committed is None or state is None or state.leader != server:
            return
        check(
            committed.era > 0 or where in self._promises.excused or offset > committed.end,
            "readers-see-committed",
            f"b{server} leads {where}, of which {committed.end} offsets are committed, and does "
            f"not know {offset}",
        )

    def _check_acknowledged(self, write: Acknowledged) -> None:
        committed = self._committed.get(write.where)
        if committed is None or self._is_overtaken(write.where, write.server):
            return  # The topic was deleted, or does not promise that much.
        batch = committed.batch_at(write.base_offset)
        check(
            batch is not None
            and (batch.crc == write.header.crc or self._is_given_twice(batch, write)),
            "acknowledged-is-committed",
            f"{write.client} was told that its batch is at {write.base_offset} of {write.where}, "
            f"of which {committed.end} offsets are committed",
        )
        assert batch is not None
        holders = self._holders(write.where, batch.end_offset)
        check(
            len(holders) >= self._min_in_sync(write.where.topic),
            "acknowledged-in-sync",
            f"{write} is acknowledged, but only {holders} have it",
        )

    def _is_given_twice(self, batch: Batch, write: Acknowledged) -> bool:
        """Whether two producers are one to a broker, because it is forgotten who the first was.

        A coordinator whose topic lost records, and might, gives a producer id and epoch again. A
        partition that lost nothing takes the second one's first batch for the first one's.
        """
        forgot = any(
            log.era for where, log in self._committed.items() if where.topic == _TRANSACTIONS
        )
        return forgot and _identity(batch.header) == _identity(write.header)

    def _check_read(self, read: Read) -> None:
        committed = self._committed.get(read.where)
        if committed is None or self._is_overtaken(read.where, read.server):
            return
        aborted = deque(sorted(read.aborted))
        aborting: set[int] = set()
        seen: list[VisibleRecord] = []
        end = read.offset
        for header, view in split_batches(read.records, allow_partial_tail=True):
            batch = committed.batch_at(header.base_offset)
            check(
                batch is not None and batch.crc == header.crc,
                "readers-see-committed",
                f"{read.client} reads a batch at {header.base_offset} of {read.where} that is not "
                "committed",
            )
            end = header.next_offset
            while aborted and aborted[0][0] <= header.last_offset:
                aborting.add(aborted.popleft()[1])
            if header.is_control:
                marker = next((parse_control(each) for each in iterate(header, view)), None)
                if marker is not None and not marker.commit:
                    aborting.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborting):
                assert batch is not None
                seen += [
                    VisibleRecord(offset, value)
                    for offset, value in enumerate(batch.values, batch.base_offset)
                    if offset >= read.offset
                ]
        if not read.is_committed_only:
            return
        check(
            end <= committed.stable,
            "readers-see-committed",
            f"{read.client} reads {read.where} up to {end}, stable is only {committed.stable}",
        )
        wanted = committed.visible_between(read.offset, end)
        check(
            seen == wanted,
            "readers-see-committed",
            f"{read.client} sees {seen} of {read.where}, committed is {wanted}",
        )


def _identity(header: BatchHeader) -> tuple[int, int, int]:
    """By what a broker knows a batch that it has already."""
    return header.producer_id, header.producer_epoch, header.base_sequence


def server_of(call: SimulatedCall) -> int:
    """The broker that a client has asked."""
    link: Any = call.connection
    return int(link.server[1:])
