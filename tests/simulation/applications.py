"""The programs of a simulated world: one that feeds, those that transform, those that only read.

A transformer takes records of the input, writes one record to the output for each, and commits the
input's offsets in the same transaction. If everything is right, the output has each of them once,
whatever happened.
"""

from __future__ import annotations

from typing import Final, Protocol

from headrace.errors import Error
from headrace.records.builder import BatchBuilder
from headrace.testing.schedule import Schedule
from headrace.types import TopicPartition
from headrace.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from tests.simulation.broker import Read
from tests.simulation.catalogue import Catalogue
from tests.simulation.members import COORDINATOR, Member
from tests.simulation.processes import Ask, Life, Sleep, Steps, Stopped
from tests.simulation.producers import (
    DATA,
    Attempt,
    Fenced,
    TransactionalProducer,
    first_error,
    produce_request,
)

INPUT: Final = "in"
OUTPUT: Final = "out"
SIDE: Final = "side"
_PAUSE_MS: Final = 150
_LONGEST_LULL_MS: Final = 3_000


class Stage(Protocol):
    """What programs know of the world."""

    catalogue: Catalogue
    schedule: Schedule
    is_closing: bool
    """Programs are to finish what they are doing, leave, and end."""

    def begin_attempt(self, transactional_id: str, group_id: str) -> Attempt: ...

    def written(self, where: TopicPartition, value: bytes) -> None: ...


def feed(stage: Stage, producer_id: int, count: int) -> Life:
    """Write `count` records to each partition of the input, each exactly once."""
    schedule = stage.schedule
    for number in range(count):
        for where in stage.catalogue.partitions(INPUT):
            builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=number)
            value = b"%s:%d" % (str(where).encode(), number)
            builder.append(None, value, schedule.now_ms)
            request = produce_request(where, builder.build())
            while first_error((yield Ask(DATA, request, 11))):
                yield Sleep(_PAUSE_MS)
            stage.written(where, value)
        yield Sleep(schedule.rng.randrange(_LONGEST_LULL_MS))


def ask_once(request: object, version: int) -> Life:
    """What an administrator does."""
    yield Ask(COORDINATOR, request, version)


class Transformer:
    """Consume, transform, produce, all in transactions.

    A guest may end in the middle of one, and nobody comes after it under the same transactional id.
    """

    def __init__(
        self, stage: Stage, member: Member, producer: TransactionalProducer, *, is_guest: bool
    ) -> None:
        self._is_guest = is_guest
        self._stage = stage
        self._member = member
        self._producer = producer
        self._rng = stage.schedule.rng

    def life(self) -> Life:
        try:
            yield from self._producer.init()
            while not self._stage.is_closing:
                yield from self._member.maintain()
                yield from fetch_positions(self._stage, self._member)
                yield from self._transform()
        except Fenced:
            pass  # somebody else does its work now
        yield from self._member.leave()

    def _transform(self) -> Steps:
        positions = self._member.positions
        reply = None
        if positions:
            where = self._rng.choice(sorted(positions))
            reply = yield Ask(DATA, Read(where, positions[where]), 0)
        if reply is None or reply.error_code or not reply.records:
            yield Sleep(self._rng.randrange(_PAUSE_MS, 3 * _PAUSE_MS))
            return
        yield from stall(self._stage.schedule)
        taken = reply.records[: self._rng.randrange(1, 4)]
        attempt = self._stage.begin_attempt(self._producer.transactional_id, self._member.group_id)
        for record in taken:
            value = b"%d>%s@%d" % (attempt.number, str(where).encode(), record.offset)
            output = self._rng.choice(self._stage.catalogue.partitions(OUTPUT))
            attempt.records.setdefault(output, []).append(value)
        side = self._stage.catalogue.partitions(SIDE)
        if side and self._rng.random() < 0.2:
            attempt.records[self._rng.choice(side)] = [b"%d>" % attempt.number]
        attempt.offsets[where] = taken[-1].offset + 1
        wants_commit = self._rng.random() < 0.85
        is_committed = yield from self._producer.transact(
            attempt, self._member, self._pause(), commit=wants_commit
        )
        if is_committed:
            if where in positions:
                positions[where] = attempt.offsets[where]
        else:
            self._member.positions.clear()

    def _pause(self) -> Steps:
        if self._is_guest and self._rng.random() < 0.3:
            raise Stopped
        yield from stall(self._stage.schedule)


def stall(schedule: Schedule) -> Steps:
    """Now and then a program hangs for longer than anybody is ready to wait for it."""
    if schedule.rng.random() < 0.08:
        schedule.note("it hangs")
        yield Sleep(schedule.rng.randrange(1_000, 5_000))


class Reader:
    """Consume and commit, as most consumers do."""

    def __init__(self, stage: Stage, member: Member) -> None:
        self._stage = stage
        self._member = member
        self._rng = stage.schedule.rng

    def life(self) -> Life:
        while not self._stage.is_closing:
            yield from self._member.maintain()
            yield from fetch_positions(self._stage, self._member)
            yield from self._consume()
            yield Sleep(self._rng.randrange(_PAUSE_MS, 3 * _PAUSE_MS))
        yield from self._member.leave()

    def _consume(self) -> Steps:
        positions = self._member.positions
        if not positions:
            return
        where = self._rng.choice(sorted(positions))
        reply = yield Ask(DATA, Read(where, positions[where]), 0)
        if reply is not None and reply.error_code == Error.OFFSET_OUT_OF_RANGE:
            positions[where] = 0  # another topic of the same name
        if reply is None or reply.error_code or not reply.records:
            return
        offset = reply.records[min(len(reply.records), 3) - 1].offset + 1
        if self._rng.random() < 0.1:
            offset = self._rng.randrange(offset)  # it wants to read something again
        positions[where] = offset
        yield from stall(self._stage.schedule)
        yield from self._commit(where, offset)

    def _commit(self, where: TopicPartition, offset: int) -> Steps:
        member = self._member
        topic_id = self._stage.catalogue.topic_id(where.topic)
        if topic_id is None:
            return
        request = OffsetCommitRequest(
            group_id=member.group_id,
            generation_id_or_member_epoch=member.number,
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=where.topic,
                    topic_id=topic_id,
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=where.partition,
                            committed_offset=offset,
                            committed_metadata="",
                        )
                    ],
                )
            ],
        )
        version = self._rng.choice((9, 10)) if member.is_modern else self._rng.choice((7, 8, 9))
        response = yield Ask(f"{COORDINATOR}-commits", request, version)
        if response is not None:
            member.on_error(first_error(response))


def fetch_positions(stage: Stage, member: Member) -> Steps:
    """Ask where to begin in partitions that are new to this member."""
    wanted: dict[str, list[int]] = {}
    for where in sorted(member.owned):
        if where not in member.positions:
            wanted.setdefault(where.topic, []).append(where.partition)
    if not wanted:
        return
    group = OffsetFetchRequestGroup(
        group_id=member.group_id,
        topics=[
            OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
            for name, indexes in wanted.items()
        ],
    )
    if member.is_modern:
        group.member_id, group.member_epoch = member.member_id, member.number
    request = OffsetFetchRequest(groups=[group], require_stable=True)
    held = member.owned
    response = yield Ask(COORDINATOR, request, 9, late=not member.is_modern)
    if response is None or response.groups[0].error_code or member.owned is not held:
        return
    for topic in response.groups[0].topics:
        for each in topic.partitions:
            if each.error_code == Error.NONE:
                where = TopicPartition(topic.name, each.partition_index)
                member.positions[where] = max(each.committed_offset, 0)
