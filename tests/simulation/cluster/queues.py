"""Workers that share a queue, and what may become of its records.

    one-outcome       a record is accepted once, or rejected once, and then settled for good: it was
                      said to a worker, so no other one may ever be told the same
    delivery-limit    no record is delivered more often than share.delivery.count.limit
    no-lost-records   in the end every record has been accepted or rejected, or was delivered as
                      often as the limit allows
    progress          (of the world) the queue is emptied

Records are lent by whoever leads the partition; what became of them is kept by the share
coordinator, and that they have such a state at all by the group coordinator. All three move. Where
the log of one of them has lost records, and might, nobody knows any more what was settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import Error
from headrace.testing.simulated_network import SimulatedCall
from headrace.types import TopicPartition
from headrace.wire.messages import share_acknowledge as acknowledge_api
from headrace.wire.messages import share_fetch as fetch_api
from headrace.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from headrace.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from headrace.wire.messages.share_fetch import ShareFetchRequest
from headrace.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.simulation.cluster.population import Pen, create_request
from tests.simulation.cluster.programs import CarefulProducer
from tests.simulation.cluster.settings import TopicPlan
from tests.simulation.failure import InvariantBroken, check
from tests.simulation.processes import Ask, Life, Sleep, Steps

if TYPE_CHECKING:
    from tests.simulation.cluster.world import ClusterWorld

QUEUE: Final = TopicPartition("queue", 0)
WORKERS: Final = "workers"
RECORDS: Final = 30
LIMIT: Final = 4
GROUP_RESOURCE: Final = 32
SET: Final = 0
ACCEPT, RELEASE, REJECT = 1, 2, 3
_SETTLES: Final = {ACCEPT: "accepted", REJECT: "rejected"}
_FENCED: Final = (
    Error.FENCED_MEMBER_EPOCH,
    Error.UNKNOWN_MEMBER_ID,
    Error.GROUP_ID_NOT_FOUND,
)

Outcomes = dict[int, int]
"""What a worker says of records: an acknowledgement type by offset."""


class QueueWitness:
    """Knows what was said of every record, and what was answered."""

    def __init__(self, workers: int = 3) -> None:
        self.settled: dict[int, str] = {}  # by offset: what was acknowledged, and to whom
        self.attempted: set[int] = set()  # somebody said it, and may not have been heard
        self.deliveries: dict[int, int] = {}  # the highest count that was seen
        self._workers = workers
        self._is_written = False
        self._is_empty = False
        self._world: ClusterWorld | None = None

    @property
    def redelivered(self) -> int:
        """How many records were delivered more than once."""
        return sum(count > 1 for count in self.deliveries.values())

    # -- the programs -----------------------------------------------------------------------------

    def programs(self) -> Iterator[tuple[str, Callable[[Any], tuple[Life, None]], bool]]:
        """(name, program, whether it comes to an end) of everybody who has to do with the queue."""
        yield "c/queue", lambda pen: (self._fill(pen), None), True
        yield "c/foreman", lambda pen: (self._watch(pen), None), True
        for number in range(self._workers):
            name = f"c/worker-{number}"
            yield name, lambda pen: (_Worker(pen).life(), None), False

    def _fill(self, world: Pen) -> Life:
        """Make the queue, say how it is to be read, and write to it."""
        plan = TopicPlan(1, 3, 2)
        while not world.partitions(QUEUE.topic):
            yield Ask("admin", create_request(QUEUE.topic, plan, 1 << 20), 7)
            yield Sleep(50)
        while True:
            answer = yield Ask("admin", _group_settings(), 1)
            if answer is not None and not answer.responses[0].error_code:
                break
            yield Sleep(100)
        yield from CarefulProducer(world, "queue", QUEUE.topic, RECORDS, 1_200).life()
        self._is_written = True

    def _watch(self, world: Pen) -> Life:
        """Wait until nothing is left to do, unless that can never be: a queue that has lost records
        may end before the place up to which it is done.
        """
        group = DescribeShareGroupOffsetsRequestGroup(group_id=WORKERS, topics=None)
        request = DescribeShareGroupOffsetsRequest(groups=[group])
        while not self._is_empty:
            is_written = self._is_written
            answer = yield Ask("foreman", request, 1, 4_000)
            if answer is not None and is_written:
                lags = [
                    partition.lag
                    for topic in answer.groups[0].topics
                    for partition in topic.partitions
                ]
                self._is_empty = lags == [0] or not self._is_certain()
            yield Sleep(300)

    # -- the judgement ----------------------------------------------------------------------------

    def watch(self, world: ClusterWorld) -> None:
        """Hear of every request and every answer of this world."""
        self._world = world
        on_arrival, on_answer = world.network.on_arrival, world.network.on_answer

        def arrived(call: SimulatedCall) -> None:
            # Whoever takes it may not live to answer.
            said = _all_said(call.request)
            self.attempted |= {offset for offset, kind in said.items() if kind in _SETTLES}
            on_arrival(call)

        def heard(life: Any, call: SimulatedCall, response: Any) -> None:
            try:
                if isinstance(call.request, ShareFetchRequest | ShareAcknowledgeRequest):
                    self._on_answer(call, response)
            except InvariantBroken as broken:
                world.witness.broken = world.witness.broken or broken
            on_answer(life, call, response)

        world.network.on_arrival, world.network.on_answer = arrived, heard

    def _is_certain(self) -> bool:
        """Whether no log on which all this relies has lost anything."""
        assert self._world is not None
        witness = self._world.witness
        return not witness.losses and not any(
            committed.era
            for where, committed in witness.committed.items()
            if where == QUEUE or where.topic.startswith("__")
        )

    def _on_answer(self, call: SimulatedCall, response: Any) -> None:
        request = call.request
        said = _all_said(request)
        if response.error_code:
            return
        for topic in response.responses:
            for answer in topic.partitions:
                is_fetch = isinstance(request, ShareFetchRequest)
                error = answer.acknowledge_error_code if is_fetch else answer.error_code
                if not error:
                    self._settle(said, f"{request.member_id}")
                for acquired in answer.acquired_records if is_fetch else ():
                    self._deliver(acquired)

    def _settle(self, said: Outcomes, member_id: str) -> None:
        for offset, kind in said.items():
            if kind not in _SETTLES:
                continue
            known = self.settled.get(offset)
            now = f"{_SETTLES[kind]} by {member_id}"
            if known is not None and self._is_certain():
                raise InvariantBroken(f"one-outcome: record {offset} was {known}, and is {now}")
            self.settled[offset] = now

    def _deliver(self, acquired: fetch_api.AcquiredRecords) -> None:
        for offset in range(acquired.first_offset, acquired.last_offset + 1):
            count = max(acquired.delivery_count, self.deliveries.get(offset, 0))
            self.deliveries[offset] = count
            if count > LIMIT:
                raise InvariantBroken(
                    f"delivery-limit: record {offset} is delivered for the {count}th time"
                )

    def check_end(self) -> None:
        """What must be true when the queue is empty."""
        assert self._world is not None
        committed = self._world.witness.committed[QUEUE]
        if not self._is_certain():
            return
        for record in committed.visible_between(0, committed.stable):
            offset = record.offset
            check(
                offset in self.settled
                or offset in self.attempted
                or self.deliveries.get(offset) == LIMIT,
                "no-lost-records",
                f"nobody has dealt with record {offset}, delivered "
                f"{self.deliveries.get(offset, 0)} times",
            )


class _Worker:
    """A share consumer: takes records, thinks about them, says what became of them; or does not."""

    def __init__(self, world: Pen) -> None:
        self._world = world
        self._member_id = f"w{world.rng.getrandbits(32):08x}"
        self._epoch = 0
        self._is_assigned = False
        self._next_beat_ms = 0
        self._session_epoch = 0
        self._to_say: Outcomes = {}

    def life(self) -> Life:
        world = self._world
        while not world.is_closing:
            if world.now_ms >= self._next_beat_ms:
                yield from self._beat(self._epoch)
            if not self._is_assigned or not world.partitions(QUEUE.topic):
                yield Sleep(100)
                continue
            yield from self._take()
            if self._to_say and world.rng.random() < 0.5:
                yield from self._say()
        yield from self._beat(-1)

    def _beat(self, epoch: int) -> Steps:
        request = ShareGroupHeartbeatRequest(
            group_id=WORKERS,
            member_id=self._member_id,
            member_epoch=epoch,
            subscribed_topic_names=[QUEUE.topic] if epoch == 0 else None,
        )
        answer = yield Ask("beats", request, 1)
        self._next_beat_ms = self._world.now_ms + 200
        if answer is None:
            return
        if answer.error_code in _FENCED:
            self._epoch, self._is_assigned = 0, False
        elif not answer.error_code:
            self._epoch = answer.member_epoch
            self._next_beat_ms = self._world.now_ms + answer.heartbeat_interval_ms
            if answer.assignment is not None:
                self._is_assigned = bool(answer.assignment.topic_partitions)

    def _take(self) -> Steps:
        """Fetch, with what is to be said of earlier records, and think about what comes."""
        rng = self._world.rng
        topic = fetch_api.FetchTopic(
            topic_id=self._world.catalogue.topics[QUEUE.topic].topic_id,
            partitions=[
                fetch_api.FetchPartition(
                    partition_index=QUEUE.partition,
                    acknowledgement_batches=_batches(self._to_say, fetch_api.AcknowledgementBatch),
                )
            ],
        )
        request = ShareFetchRequest(
            group_id=WORKERS,
            member_id=self._member_id,
            share_session_epoch=self._session_epoch,
            max_wait_ms=300,
            min_bytes=1,
            max_records=rng.randint(1, 8),
            batch_size=8,
            share_acquire_mode=rng.randint(0, 1),
            topics=[topic],
            forgotten_topics_data=[],
        )
        self._to_say = {}
        answer = yield Ask("share", request, 2, 3_000, leader_of=QUEUE)
        if not self._goes_on(answer):
            yield Sleep(rng.randrange(20, 200))
            return
        acquired = [
            offset
            for topic in answer.responses
            for partition in topic.partitions
            for batch in partition.acquired_records
            for offset in range(batch.first_offset, batch.last_offset + 1)
        ]
        if acquired:
            # Sometimes longer than records are locked.
            yield Sleep(rng.choice((0, rng.randrange(300), rng.randrange(2_500))))
            for offset in acquired:
                kind = rng.choices((ACCEPT, RELEASE, REJECT, 0), weights=(14, 3, 1, 1))[0]
                if kind:
                    self._to_say[offset] = kind

    def _say(self) -> Steps:
        """Acknowledge without fetching more."""
        topic = acknowledge_api.AcknowledgeTopic(
            topic_id=self._world.catalogue.topics[QUEUE.topic].topic_id,
            partitions=[
                acknowledge_api.AcknowledgePartition(
                    partition_index=QUEUE.partition,
                    acknowledgement_batches=_batches(
                        self._to_say, acknowledge_api.AcknowledgementBatch
                    ),
                )
            ],
        )
        request = ShareAcknowledgeRequest(
            group_id=WORKERS,
            member_id=self._member_id,
            share_session_epoch=self._session_epoch,
            topics=[topic],
        )
        self._to_say = {}
        answer = yield Ask("share", request, 2, 3_000, leader_of=QUEUE)
        self._goes_on(answer)

    def _goes_on(self, answer: Any) -> bool:
        """Whether the session does; if not, what was to be said is forgotten with it."""
        if answer is None or answer.error_code:
            self._session_epoch = 0
            self._to_say = {}
            return False
        self._session_epoch += 1
        return not any(
            partition.error_code for topic in answer.responses for partition in topic.partitions
        )


def _batches(said: Outcomes, batch: Callable[..., Any]) -> list[Any]:
    return [
        batch(first_offset=offset, last_offset=offset, acknowledge_types=[said[offset]])
        for offset in sorted(said)
    ]


def _all_said(request: Any) -> Outcomes:
    if not isinstance(request, ShareFetchRequest | ShareAcknowledgeRequest):
        return {}
    return {
        batch.first_offset: batch.acknowledge_types[0]
        for topic in request.topics
        for partition in topic.partitions
        for batch in partition.acknowledgement_batches
    }


def _group_settings() -> IncrementalAlterConfigsRequest:
    wanted = {
        "share.auto.offset.reset": "earliest",
        "share.delivery.count.limit": str(LIMIT),
        "share.record.lock.duration.ms": "1200",
    }
    return IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=GROUP_RESOURCE,
                resource_name=WORKERS,
                configs=[
                    AlterableConfig(name=name, config_operation=SET, value=value)
                    for name, value in wanted.items()
                ],
            )
        ],
        validate_only=False,
    )
