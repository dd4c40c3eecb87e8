"""Clients of a cluster: programs as in `tests.simulation.processes`, that find their own way.

A program says what it asks; which broker it asks is found out here, as client libraries do: leaders
from Metadata, coordinators from FindCoordinator, both kept until an answer or a lost connection
says that they are not true any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from headrace.errors import Error
from headrace.records.batch import split_batches
from headrace.records.control import parse_control
from headrace.records.record import iterate
from headrace.testing.schedule import Alarm, Schedule
from headrace.testing.simulated_network import Link, SimulatedNetwork, errors_in
from headrace.types import TopicPartition
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.find_coordinator import FindCoordinatorRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import ProduceRequest
from tests.simulation.broker import Read, ReadReply
from tests.simulation.cluster.programs import fetch_request
from tests.simulation.processes import Ask, Life, Sleep, Stopped
from tests.simulation.reading import VisibleRecord

_PAUSE_MS: Final = 100
_METADATA_VERSION: Final = 12
_FIND_VERSION: Final = 6
_FETCH_VERSION: Final = 12
_EMPTY: Final = memoryview(b"")
_GROUP: Final = 0
_TRANSACTION: Final = 1

_ASTRAY: Final = frozenset(
    {
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.UNKNOWN_TOPIC_ID,
        Error.FENCED_LEADER_EPOCH,
        Error.UNKNOWN_LEADER_EPOCH,
        Error.KAFKA_STORAGE_ERROR,
        Error.NOT_COORDINATOR,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.REPLICA_NOT_AVAILABLE,
    }
)

Target = TopicPartition | tuple[int, str] | None
"""Whom a request is for: the leader of a partition, a coordinator of a kind, or any broker."""


def target_of(request: Any) -> Target:
    """Read from a request who must answer it."""
    if isinstance(request, ProduceRequest):
        topic = request.topic_data[0]
        return TopicPartition(topic.name, topic.partition_data[0].index)
    if isinstance(request, FetchRequest):
        return TopicPartition(request.topics[0].topic, request.topics[0].partitions[0].partition)
    kind = type(request).__name__
    if kind in ("InitProducerIdRequest", "AddOffsetsToTxnRequest", "EndTxnRequest"):
        return (_TRANSACTION, request.transactional_id) if request.transactional_id else None
    if kind == "AddPartitionsToTxnRequest":
        return (_TRANSACTION, request.v3_and_below_transactional_id)
    if kind in ("OffsetFetchRequest", "DescribeShareGroupOffsetsRequest"):
        return (_GROUP, request.groups[0].group_id)
    if kind == "DeleteGroupsRequest":
        return (_GROUP, request.groups_names[0])
    if hasattr(request, "group_id"):
        return (_GROUP, request.group_id)
    return None


def end_of(response: Any) -> tuple[int, int]:
    """The error of a fetch of one partition, and where its records end."""
    answer = _fetched(response)
    if answer is None:
        return response.error_code or Error.UNKNOWN_TOPIC_OR_PARTITION, -1
    end = -1
    for header, _ in split_batches(answer.records or _EMPTY, allow_partial_tail=True):
        end = header.next_offset
    return answer.error_code, end


def _fetched(response: Any) -> Any:
    for topic in response.responses:
        for answer in topic.partitions:
            return answer
    return None


def _as_records(asked: Read, response: Any) -> ReadReply:
    """What a consumer of committed records makes of a fetch."""
    answer = _fetched(response)
    if answer is None or answer.error_code:
        error = response.error_code if answer is None else answer.error_code
        return ReadReply(error or Error.UNKNOWN_TOPIC_OR_PARTITION, [])
    aborted = deque(
        sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or ())
    )
    aborting: set[int] = set()
    found: list[VisibleRecord] = []
    for header, view in split_batches(answer.records or _EMPTY, allow_partial_tail=True):
        while aborted and aborted[0][0] <= header.last_offset:
            aborting.add(aborted.popleft()[1])
        if header.is_control:
            marker = next((parse_control(each) for each in iterate(header, view)), None)
            if marker is not None and not marker.commit:
                aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            found += [
                VisibleRecord(record.offset, bytes(record.value or b""))
                for record in iterate(header, view)
                if record.offset >= asked.offset
            ]
    return ReadReply(Error.NONE, found)


class ClusterProcess:
    """One running program of a cluster's client."""

    def __init__(
        self,
        name: str,
        network: SimulatedNetwork,
        schedule: Schedule,
        rng: Random,
        brokers: Callable[[], Sequence[str]],
    ) -> None:
        self.name = name
        self.is_running = True
        self.on_end: Callable[[], None] = lambda: None
        self._network = network
        self._schedule = schedule
        self._rng = rng
        self._brokers = brokers
        self._links: dict[tuple[str, str], Link] = {}
        self._routes: dict[Target, str] = {}
        self._looking: dict[Target, list[Callable[[str | None], None]]] = {}
        self._life: Life | None = None

    def run(self, life: Life) -> None:
        """Begin; the first step happens now."""
        self._life = life
        self._go_on(None)

    def kill(self) -> None:
        """The program ends without a word."""
        if not self.is_running:
            return
        self.is_running = False
        for link in self._links.values():
            if link.is_open:
                link.waiting.clear()
                self._network.give_up(link)
        self.on_end()

    def _go_on(self, value: Any) -> None:
        if not self.is_running:
            return
        assert self._life is not None
        try:
            wait = self._life.send(value)
        except (StopIteration, Stopped):
            self.kill()
            return
        if isinstance(wait, Sleep):
            self._schedule.after(wait.ms, f"{self.name} wakes up", lambda: self._go_on(None))
        elif isinstance(wait, Ask):
            self._ask(wait, self._go_on)
        else:
            self._ask_all(wait)

    def _ask_all(self, asks: list[Ask]) -> None:
        answers: list[Any] = [None] * len(asks)
        missing = len(asks)

        def put(index: int, answer: Any) -> None:
            nonlocal missing
            answers[index] = answer
            missing -= 1
            if not missing:
                self._go_on(answers)

        for index, ask in enumerate(asks):
            self._ask(ask, lambda answer, index=index: put(index, answer))  # type: ignore[misc]

    # Finding the way.

    def _ask(self, ask: Ask, on_answer: Callable[[Any], None]) -> None:
        if isinstance(ask.request, Read):
            asked, program = ask.request, on_answer
            request = fetch_request(asked.where, asked.offset, committed_only=True)
            ask = ask._replace(request=request, version=_FETCH_VERSION)

            def on_answer(response: Any) -> None:
                program(None if response is None else _as_records(asked, response))

        target = ask.leader_of or target_of(ask.request)
        if target is None:
            broker = self._rng.choice(self._brokers())
            self._send(broker, ask, on_answer)
        elif target in self._routes:
            self._ask_at(self._routes[target], target, ask, on_answer)
        else:
            self._look_up(target, lambda found: self._on_found(found, target, ask, on_answer))

    def _on_found(
        self, broker: str | None, target: Target, ask: Ask, on_answer: Callable[[Any], None]
    ) -> None:
        if broker is None:
            # Nobody knows; as a request that nobody answered.
            self._schedule.after(_PAUSE_MS, f"{self.name} is lost", lambda: on_answer(None))
        else:
            self._routes[target] = broker
            self._ask_at(broker, target, ask, on_answer)

    def _ask_at(
        self, broker: str, target: Target, ask: Ask, on_answer: Callable[[Any], None]
    ) -> None:
        def answered(response: Any) -> None:
            if response is None or not _ASTRAY.isdisjoint(errors_in(response)):
                self._routes.pop(target, None)
            on_answer(response)

        self._send(broker, ask, answered)

    def _look_up(self, target: Target, on_found: Callable[[str | None], None]) -> None:
        assert target is not None
        waiting = self._looking.get(target)
        if waiting is not None:
            waiting.append(on_found)  # in the order in which they were asked
            return
        self._looking[target] = [on_found]
        request: Any
        if isinstance(target, TopicPartition):
            request = MetadataRequest(
                topics=[MetadataRequestTopic(name=target.topic)], allow_auto_topic_creation=False
            )
            version = _METADATA_VERSION
        else:
            request = FindCoordinatorRequest(key_type=target[0], coordinator_keys=[target[1]])
            version = _FIND_VERSION

        def answered(response: Any) -> None:
            if not self.is_running:
                return
            node = -1
            if response is not None:
                node = (
                    _leader_in(response, target)
                    if version == _METADATA_VERSION
                    else (
                        response.coordinators[0].node_id
                        if not response.coordinators[0].error_code
                        else -1
                    )
                )
            for found in self._looking.pop(target):
                found(f"b{node}" if node >= 0 else None)

        self._send(self._rng.choice(self._brokers()), Ask("metadata", request, version), answered)

    def _send(self, broker: str, ask: Ask, on_answer: Callable[[Any], None]) -> None:
        if not self.is_running:
            return
        key = (broker, ask.link)
        link = self._links.get(key)
        if link is None or not link.is_open:
            link = self._network.connect(self.name, broker, link, late=ask.late)
            self._links[key] = link
        used = link
        alarm: Alarm | None = None

        def replied(response: Any) -> None:
            if alarm is not None:
                alarm.cancel()
            if self.is_running:
                on_answer(response)

        what = f"{self.name} gives up {type(ask.request).__name__.removesuffix('Request')}"
        alarm = self._schedule.after(ask.timeout_ms, what, lambda: self._network.give_up(used))
        self._network.send(link, ask.request, ask.version, ask.context, replied)


def _leader_in(response: Any, target: Target) -> int:
    assert isinstance(target, TopicPartition)
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.partition_index == target.partition and not partition.error_code:
                return int(partition.leader_id)
    return -1
