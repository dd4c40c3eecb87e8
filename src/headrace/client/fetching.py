"""Raw batches of one partition, read from wherever its leader is.

Each request stands alone (no fetch session), so any number of fetchers share a connection. With a
topic id the fetcher reads that life of the topic and no other: a topic deleted and created again
under the same name is `UnknownTopic`, never somebody else's records. Batches are handed on as they
came, a last one possibly cut off; nothing here looks into them.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

from headrace.client.cluster import Cluster, Route
from headrace.client.connection import Reply
from headrace.client.faults import BrokerRefused, OffsetOutOfRange, UnknownTopic
from headrace.client.offsets import EARLIEST, LATEST, list_offsets
from headrace.client.retrying import PASSING, Deadline
from headrace.errors import Error, HeadraceError
from headrace.types import ZERO_UUID, TopicPartition, uuid_to_text
from headrace.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

__all__ = [
    "AbortedTransaction",
    "FetchedSlice",
    "OffsetOutOfRange",
    "PartitionFetcher",
    "UnknownTopic",
]

_NO_RECORDS: Final = memoryview(b"")


class AbortedTransaction(NamedTuple):
    """Records of this producer from this offset on, up to its next marker, do not count."""

    producer_id: int
    first_offset: int


class FetchedSlice(NamedTuple):
    """What one fetch brought; `records` may end within a batch, and is a view of the frame."""

    records: memoryview
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: tuple[AbortedTransaction, ...]


class PartitionFetcher:
    """Reads one partition. `ahead` lets the broker work while the caller does."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        *,
        read_committed: bool,
        max_bytes: int = 8 << 20,
        max_wait_ms: int = 500,
        topic_id: UUID | None = None,
    ) -> None:
        self._cluster = cluster
        self._place = TopicPartition(topic, partition)
        self._read_committed = read_committed
        self._max_bytes = max_bytes
        self._max_wait_ms = min(max_wait_ms, cluster.settings.request_timeout_ms // 2)
        self._topic_id = topic_id
        self._ahead: tuple[int, Reply] | None = None

    def fetch(self, offset: int) -> FetchedSlice:
        """The batches from the one that holds `offset` on; none if the end is reached."""
        place = self._place
        deadline = self._cluster.deadline(f"reading {place} from offset {offset}")
        while True:
            try:
                reply = self._take_ahead(offset) or self._request(offset, deadline)
                return slice_of(self._await(reply, offset, deadline))
            except PASSING as error:
                self._cluster.forget(place.topic)
                if isinstance(error, BrokerRefused) and error.error is Error.OFFSET_OUT_OF_RANGE:
                    self._check_range(offset)
                    error = BrokerRefused(Error.OFFSET_NOT_AVAILABLE, f"{place} at {offset}")
                deadline.rest(error)

    def ahead(self, offset: int) -> None:
        """Ask for this offset now; the next `fetch` of it takes the answer."""
        deadline = self._cluster.deadline(f"reading {self._place} from offset {offset}")
        try:
            self._ahead = (offset, self._request(offset, deadline))
        except HeadraceError:
            # The fetch itself will meet the same trouble, retry it or tell of it.
            self._ahead = None

    def _take_ahead(self, offset: int) -> Reply | None:
        ahead, self._ahead = self._ahead, None
        return ahead[1] if ahead is not None and ahead[0] == offset else None

    def _request(self, offset: int, deadline: Deadline) -> Reply:
        place = self._place
        route = self._route(deadline)
        partition = FetchPartition(
            partition=place.partition,
            current_leader_epoch=route.leader_epoch,
            fetch_offset=offset,
            partition_max_bytes=self._max_bytes,
        )
        request = FetchRequest(
            max_wait_ms=self._max_wait_ms,
            min_bytes=1,
            max_bytes=self._max_bytes,
            isolation_level=int(self._read_committed),
            topics=[FetchTopic(topic=place.topic, topic_id=route.topic_id, partitions=[partition])],
        )
        route.connection.set_timeout(deadline.request_s)
        return route.connection.request(request)

    def _await(self, reply: Reply, offset: int, deadline: Deadline) -> PartitionData:
        reply.connection.set_timeout(deadline.request_s)
        response: FetchResponse = reply.result()
        what = f"reading {self._place} at offset {offset}"
        if response.error_code:
            raise BrokerRefused(response.error_code, what)
        found = [data for topic in response.responses for data in topic.partitions]
        if len(found) != 1 or found[0].partition_index != self._place.partition:
            raise BrokerRefused(Error.UNKNOWN_SERVER_ERROR, what, "another partition's answer")
        if found[0].error_code:
            raise BrokerRefused(found[0].error_code, what)
        return found[0]

    def _route(self, deadline: Deadline) -> Route:
        """The leader, if it leads the topic that is wanted and not a later one of the same name."""
        name, wanted = self._place.topic, self._topic_id
        route = self._cluster.route(*self._place, within=deadline)
        if wanted is None or route.topic_id in (wanted, ZERO_UUID):
            return route
        # What was learnt long ago may be of the topic before this one: only fresh news counts.
        self._cluster.forget(name)
        route = self._cluster.route(*self._place, within=deadline)
        if route.topic_id == wanted:
            return route
        found = route.topic_id
        raise UnknownTopic(
            name,
            f"the topic {name} with the id {uuid_to_text(wanted)} is gone: it was deleted and "
            f"created again as {uuid_to_text(found)}, so offsets of the old one mean nothing in it",
        )

    def _check_range(self, offset: int) -> None:
        """Raise with both ends of the log, unless the offset lies between them after all."""
        place = self._place
        first = list_offsets(self._cluster, {place: EARLIEST}, read_committed=False)[place].offset
        end = list_offsets(self._cluster, {place: LATEST}, read_committed=False)[place].offset
        if not first <= offset <= end:
            raise OffsetOutOfRange(*place, offset, first, end)


def slice_of(data: PartitionData) -> FetchedSlice:
    """What a broker answered for one partition."""
    records = data.records
    return FetchedSlice(
        records=_NO_RECORDS if records is None else memoryview(records),
        high_watermark=data.high_watermark,
        last_stable_offset=data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        aborted=tuple(
            AbortedTransaction(aborted.producer_id, aborted.first_offset)
            for aborted in data.aborted_transactions or ()
        ),
    )
