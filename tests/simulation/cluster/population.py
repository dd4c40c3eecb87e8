"""The clients of a simulated cluster: who they are, and that they come again when they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from headrace.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.simulation.applications import INPUT, OUTPUT, SIDE, Reader, Transformer
from tests.simulation.cluster.clients import ClusterProcess, end_of
from tests.simulation.cluster.programs import CarefulProducer, follow, write_plainly
from tests.simulation.cluster.settings import PLAIN, RISKY, TopicPlan
from tests.simulation.members import ClassicMember, Member, ModernMember
from tests.simulation.processes import Ask, Life, Sleep
from tests.simulation.producers import TransactionalProducer

if TYPE_CHECKING:
    from tests.simulation.cluster.world import ClusterWorld

CHAIN: Final = "chain"
GROUP: Final = "readers"
TRANSACTION_TIMEOUT_MS: Final = 5_000


@dataclass(slots=True)
class Role:
    """A program that is started again when it ends: its name, and what it is."""

    name: str
    begin: Callable[[Pen], tuple[Life, Member | None]]
    is_finite: bool = False
    process: ClusterProcess | None = None
    member: Member | None = None


class Pen:
    """What one program knows of the world, with chance of its own."""

    def __init__(self, world: ClusterWorld, rng: Random) -> None:
        self.rng = rng
        self.catalogue = world.catalogue
        self.schedule = self
        self.note = world.schedule.note
        self.begin_attempt = world.begin_attempt
        self.written = world.written
        self.partitions = world.catalogue.partitions
        self.may_lose = world.may_lose
        self.holds = world.holds
        self._world = world

    @property
    def now_ms(self) -> int:
        return self._world.schedule.now_ms

    @property
    def is_closing(self) -> bool:
        return self._world.is_closing


class Population:
    """All programs of a world."""

    def __init__(self, world: ClusterWorld) -> None:
        self.roles: list[Role] = []
        self._world = world
        rng = world.chance.of("groups")
        self._is_modern = {group_id: rng.random() < 0.5 for group_id in (CHAIN, GROUP)}

    def begin(self) -> None:
        """Let everybody start, one after the other."""
        world = self._world
        rng = world.chance.of("population")
        careful = rng.randint(20, 50)
        self._add("c/admin", self._begin_admin, is_finite=True)
        self._add("c/feeder", self._begin_careful("feeder", INPUT, 24, 1_500), is_finite=True)
        self._add("c/careful", self._begin_careful("careful", PLAIN, careful, 900), is_finite=True)
        self._add("c/all", self._begin_plain("all", rng.choice((PLAIN, RISKY)), -1))
        self._add("c/one", self._begin_plain("one", RISKY, 1))
        for index in range(rng.randint(1, 2)):
            version = rng.choice((1, 2))
            self._add(f"c/transformer-{index}", self._begin_transformer(f"t{index}", version))
        for index in range(rng.randint(1, 2)):
            self._add(f"c/reader-{index}", self._begin_reader)
        for topic, committed_only in ((OUTPUT, True), (rng.choice((PLAIN, RISKY)), False)):
            self._add(f"c/follower-{topic}", self._begin_follower(topic, committed_only))
        if world.quotas is not None:
            for name, begin in world.quotas.programs().items():
                self._add(name, begin, is_finite=True)
        if world.queues is not None:
            for name, begin, is_finite in world.queues.programs():
                self._add(name, begin, is_finite=is_finite)
        for role in self.roles:
            delay_ms = 300 if role.name == "c/admin" else rng.randrange(1_500, 3_000)
            world.schedule.after(delay_ms, f"{role.name} starts", partial(self.start, role))

    def _add(
        self,
        name: str,
        begin: Callable[[Pen], tuple[Life, Member | None]],
        *,
        is_finite: bool = False,
    ) -> None:
        self.roles.append(Role(name, begin, is_finite))

    def start(self, role: Role) -> None:
        if self._world.is_closing or (role.process is not None and role.process.is_running):
            return
        world = self._world
        rng = world.chance.of("program", role.name)
        life, role.member = role.begin(Pen(self._world, rng))
        process = role.process = ClusterProcess(
            role.name, world.network, world.schedule, rng, world.broker_names
        )
        if not role.is_finite:
            process.on_end = partial(self._start_later, role, rng)
        process.run(life)

    def _start_later(self, role: Role, rng: Random) -> None:
        self._world.schedule.after(
            rng.randrange(100, 2_000), f"{role.name} starts again", partial(self.start, role)
        )

    def _begin_admin(self, _pen: Pen) -> tuple[Life, None]:
        return self._create_topics(), None

    def _create_topics(self) -> Life:
        for name, topic in self._world.settings.topics.items():
            while name not in self._world.catalogue.topics:
                yield Ask(
                    "admin", create_request(name, topic, self._world.settings.segment_bytes), 7
                )
                yield Sleep(50)

    def _begin_careful(
        self, name: str, topic: str, count: int, pause_ms: int
    ) -> Callable[[Pen], tuple[Life, None]]:
        return lambda pen: (CarefulProducer(pen, name, topic, count, pause_ms).life(), None)

    def _begin_plain(self, name: str, topic: str, acks: int) -> Callable[[Pen], tuple[Life, None]]:
        return lambda pen: (write_plainly(pen, name, topic, acks, 900), None)

    def _begin_follower(
        self, topic: str, committed_only: bool
    ) -> Callable[[Pen], tuple[Life, None]]:
        return lambda pen: (
            follow(pen, topic, committed_only=committed_only, pause_ms=700, end_of=end_of),
            None,
        )

    def _new_member(self, pen: Any, group_id: str, topics: list[str]) -> Member:
        if self._is_modern[group_id]:
            return ModernMember(group_id, topics, None, self._world.catalogue, pen)
        return ClassicMember(group_id, topics, None, self._world.catalogue, pen, late=True)

    def _begin_transformer(
        self, transactional_id: str, version: int
    ) -> Callable[[Pen], tuple[Life, Member]]:
        def begin(pen: Any) -> tuple[Life, Member]:
            member = self._new_member(pen, CHAIN, [INPUT])
            producer = TransactionalProducer(transactional_id, version, TRANSACTION_TIMEOUT_MS, pen)
            return Transformer(pen, member, producer, is_guest=False).life(), member

        return begin

    def _begin_reader(self, pen: Any) -> tuple[Life, Member]:
        member = self._new_member(pen, GROUP, [INPUT, SIDE])
        return Reader(pen, member).life(), member

    def living(self) -> list[Role]:
        return [role for role in self.roles if role.process is not None and role.process.is_running]


def create_request(name: str, topic: TopicPlan, segment_bytes: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=topic.partitions,
                replication_factor=topic.replication_factor,
                assignments=[],
                configs=[
                    CreatableTopicConfig(name=key, value=value)
                    for key, value in topic.configs(segment_bytes).items()
                ],
            )
        ],
        timeout_ms=5_000,
        validate_only=False,
    )
