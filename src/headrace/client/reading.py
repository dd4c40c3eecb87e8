"""Raw batches of many partitions, one request under way to each leader.

A broker answers the requests of a connection one after the other, so partitions that share a leader
share a request: silent ones do not hold up the others. The caller says where each partition is read
from, looks at what came, and says where to go on; `ask` lets the brokers work while it looks.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from headrace.client.cluster import Cluster, Route
from headrace.client.connection import Reply
from headrace.client.faults import BrokerRefused, UnknownTopic
from headrace.client.fetching import FetchedSlice, slice_of
from headrace.client.retrying import OUTAGE, PASSING
from headrace.errors import Error, HeadraceError
from headrace.types import ZERO_UUID, TopicPartition
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData


class Read(NamedTuple):
    """What came for a partition from `offset` on; None: there is no such offset."""

    place: TopicPartition
    offset: int
    fetched: FetchedSlice | None


class _Asked(NamedTuple):
    reply: Reply
    offsets: dict[TopicPartition, int]
    names: dict[UUID, str]


class PartitionsReader:
    """For one thread. Faults that pass are retried for as long as they last: a reader has time."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        read_committed: bool,
        max_bytes: int = 16 << 20,
        partition_bytes: int = 1 << 20,
        max_wait_ms: int = 500,
    ) -> None:
        self._cluster = cluster
        self._read_committed = read_committed
        self._max_bytes = max_bytes
        self._partition_bytes = partition_bytes
        self._max_wait_ms = min(max_wait_ms, cluster.settings.request_timeout_ms // 2)
        self._positions: dict[TopicPartition, int] = {}
        self._asked: dict[int, _Asked] = {}
        self.fault: HeadraceError | None = None
        """Why something is not read at the moment."""

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The next offset of each partition that is read."""
        return self._positions

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions and no others."""
        self._positions = dict(positions)

    def advance(self, place: TopicPartition, offset: int) -> None:
        """Go on with `offset`."""
        if place in self._positions:
            self._positions[place] = offset

    def ask(self) -> None:
        """Send a request to each leader that has none to answer."""
        busy = {place for asked in self._asked.values() for place in asked.offsets}
        by_leader: defaultdict[int, dict[TopicPartition, Route]] = defaultdict(dict)
        for place in self._positions.keys() - busy:
            try:
                route = self._cluster.route(*place)
            except UnknownTopic as fault:
                self.fault = fault
                continue
            except OUTAGE as fault:
                self.fault = fault
                break  # the others would wait as long
            by_leader[route.leader][place] = route
        for leader, routes in by_leader.items():
            if leader not in self._asked:
                try:
                    self._asked[leader] = self._request(routes)
                except PASSING as fault:
                    self._give_up(routes, fault)

    def poll(self) -> list[Read]:
        """What one leader answered, waited for no longer than it waits for records."""
        self.ask()
        if not self._asked:
            self._rest()
            return []
        here = (leader for leader, asked in self._asked.items() if asked.reply.is_here())
        leader = next(here, next(iter(self._asked)))
        asked = self._asked.pop(leader)
        try:
            asked.reply.connection.set_timeout(self._cluster.settings.request_timeout_ms / 1000)
            response = asked.reply.result()
            if response.error_code:
                raise BrokerRefused(response.error_code, "reading")
        except PASSING as fault:
            self._give_up(asked.offsets, fault)
            self._rest()
            return []
        self.fault = None
        found = []
        for topic in response.responses:
            name = topic.topic if topic.topic_id == ZERO_UUID else asked.names[topic.topic_id]
            for data in topic.partitions:
                place = TopicPartition(name, data.partition_index)
                read = self._read(place, asked.offsets.get(place, -1), data)
                if read is not None:
                    found.append(read)
        if self.fault is not None:
            self._rest()
        return found

    def _read(self, place: TopicPartition, offset: int, data: PartitionData) -> Read | None:
        if self._positions.get(place) != offset:
            return None  # It was asked for before somebody decided otherwise.
        if data.error_code == Error.OFFSET_OUT_OF_RANGE:
            return Read(place, offset, None)
        if data.error_code:
            self._give_up([place], BrokerRefused(data.error_code, f"reading {place}"))
            return None
        return Read(place, offset, slice_of(data))

    def _request(self, routes: Mapping[TopicPartition, Route]) -> _Asked:
        topics: defaultdict[str, list[FetchPartition]] = defaultdict(list)
        ids: dict[str, UUID] = {}
        offsets = {place: self._positions[place] for place in routes}
        for place, route in routes.items():
            ids[place.topic] = route.topic_id
            topics[place.topic].append(
                FetchPartition(
                    partition=place.partition,
                    current_leader_epoch=route.leader_epoch,
                    fetch_offset=offsets[place],
                    partition_max_bytes=self._partition_bytes,
                )
            )
        request = FetchRequest(
            max_wait_ms=self._max_wait_ms,
            min_bytes=1,
            max_bytes=self._max_bytes,
            isolation_level=int(self._read_committed),
            topics=[
                FetchTopic(topic=name, topic_id=ids[name], partitions=partitions)
                for name, partitions in topics.items()
            ],
        )
        connection = next(iter(routes.values())).connection
        connection.set_timeout(self._cluster.settings.request_timeout_ms / 1000)
        names = {topic_id: name for name, topic_id in ids.items()}
        return _Asked(connection.request(request), offsets, names)

    def _give_up(
        self, places: Mapping[TopicPartition, object] | list[TopicPartition], fault: HeadraceError
    ) -> None:
        self.fault = fault
        for topic in {place.topic for place in places}:
            self._cluster.forget(topic)

    def _rest(self) -> None:
        time.sleep(self._cluster.settings.retry_backoff_ms / 1000)
