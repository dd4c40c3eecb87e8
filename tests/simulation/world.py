"""A whole world from one seed: a broker on its disk, clients, a network, and what befalls them.

First there is a storm: the network loses, delays and repeats, the broker crashes, clients vanish,
come back and meet others of the same name, topics come and go. Then everything heals, the work is
finished, and everybody leaves. The witness looks after every event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from hashlib import blake2b
from typing import Final
from uuid import UUID

from headrace.cluster.topic_names import CONSUMER_OFFSETS, TRANSACTION_STATE
from headrace.testing import MemoryDisk, SimulatedCrash
from headrace.testing.schedule import Schedule
from headrace.testing.simulated_network import Weather
from headrace.types import TopicPartition
from headrace.wire.messages.delete_groups import DeleteGroupsRequest
from tests.settings import group_settings, log_config, transaction_settings
from tests.simulation.applications import INPUT, OUTPUT, SIDE, Reader, Transformer, ask_once, feed
from tests.simulation.broker import (
    Constitution,
    SimulatedBroker,
    new_group_shard,
    new_transaction_shard,
)
from tests.simulation.catalogue import Catalogue
from tests.simulation.failure import InvariantBroken, fail
from tests.simulation.members import ClassicMember, Member, ModernMember
from tests.simulation.network import Network
from tests.simulation.processes import Life, Process
from tests.simulation.producers import Attempt, TransactionalProducer
from tests.simulation.storage import PATH, KillableDisk
from tests.simulation.witness import Witness

CHAIN: Final = "chain"
PLAIN: Final = "plain"
STORM_MS: Final = 9_000
HEALING_MS: Final = 60_000
SETTLING_MS: Final = 14_000  # regular expressions are resolved every ten seconds at most
QUIET_MS: Final = 15_000
TRANSACTION_TIMEOUT_MS: Final = 5_000
_NEVER: Final = 1 << 62


class Kind(Enum):
    """Which protocol the members of a group speak; mixed groups go from one to the other."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    MIXED = "mixed"


@dataclass(slots=True)
class Role:
    """A program that is started again when it ends: its name, and what it is."""

    name: str
    begin: Callable[[Role], tuple[Life, Member | None]]
    process: Process | None = None
    member: Member | None = None


class World:
    """See the module. As the stage of its programs it has a catalogue and a schedule."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.schedule = Schedule(seed)
        rng = self.rng = self.schedule.rng
        self.is_closing = False
        self.loses_power = rng.random() < 0.5
        self._is_patient = rng.random() < 0.15
        self.catalogue = Catalogue(self._new_uuid)
        self._producer_ids = 1_000
        self._constitution = self._new_constitution()
        for name, count in (
            (CONSUMER_OFFSETS, self._constitution.offsets_partitions),
            (TRANSACTION_STATE, self._constitution.transaction_partitions),
            (INPUT, rng.randint(1, 3)),
            (OUTPUT, 2),
            (SIDE, rng.randint(1, 2)),
        ):
            self.catalogue.create(name, count)
        self._disk: MemoryDisk = KillableDisk(folders=[PATH])
        self.network = Network(
            self.schedule,
            Weather(
                max_delay_ms=rng.choice((3, 20, 80)),
                loss=rng.choice((0, 0.01, 0.05)),
                repeats=rng.choice((0, 0.02, 0.1)),
            ),
        )
        self.witness = Witness(
            self.catalogue,
            CHAIN,
            {
                CONSUMER_OFFSETS: lambda: new_group_shard(self._constitution),
                TRANSACTION_STATE: lambda: new_transaction_shard(self._constitution),
            },
        )
        self.network.on_arrival = self.witness.on_arrival
        self.network.on_answer = self.witness.on_answer
        self.broker: SimulatedBroker | None = None
        self._kinds = {
            group: rng.choices([*Kind], weights=(2, 2, 1))[0] for group in (CHAIN, PLAIN)
        }
        self._roles: list[Role] = []
        self._zombies: list[Role] = []

    def _new_uuid(self) -> UUID:
        return UUID(int=self.rng.getrandbits(128), version=4)

    def new_producer_id(self) -> int:
        self._producer_ids += 1
        return self._producer_ids

    def _new_constitution(self) -> Constitution:
        rng = self.rng
        flush_messages = 1 if self.loses_power else _NEVER
        config = log_config(flush_messages=flush_messages, index_interval_bytes=400)
        internal = log_config(
            flush_messages=flush_messages,
            index_interval_bytes=400,
            segment_bytes=rng.choice((6_000, 1 << 20)),
            cleanup_policy=("compact",),
            min_cleanable_dirty_ratio=0.0,
        )
        return Constitution(
            catalogue=self.catalogue,
            group_settings=group_settings(
                group_min_session_timeout_ms=500,
                group_initial_rebalance_delay_ms=rng.choice((0, 200)),
                new_member_join_timeout_ms=4_000,
                group_consumer_session_timeout_ms=2_500,
                group_consumer_heartbeat_interval_ms=600,
                group_consumer_assignment_interval_ms=rng.choice((0, 300)),
            ),
            transaction_settings=transaction_settings(
                transaction_abort_timed_out_transaction_cleanup_interval_ms=500,
                transactional_id_expiration_ms=rng.choice((6_000, 604_800_000)),
                transaction_remove_expired_transaction_cleanup_interval_ms=1_000,
            ),
            offsets_partitions=rng.randint(1, 2),
            transaction_partitions=rng.randint(1, 2),
            config_of=lambda name: internal if name.startswith("__") else config,
            new_uuid=self._new_uuid,
            new_producer_id=self.new_producer_id,
        )

    # What programs ask of the world.

    def begin_attempt(self, transactional_id: str, group_id: str) -> Attempt:
        return self.witness.transactions.begin(transactional_id, group_id)

    def written(self, where: TopicPartition, value: bytes) -> None:
        self.witness.written.setdefault(where, []).append(value)

    # The story.

    def run(self) -> None:
        """Live through it all; AssertionError with the seed if an invariant breaks."""
        try:
            self._start_broker()
            self._populate()
            self._plan_upheaval()
            self._run(STORM_MS)
            self._heal()
            self._run(HEALING_MS, self._is_finished)
            if not self._is_finished():
                fail("progress", f"committed is only {self.witness.offsets.chain}")
            if self._is_patient:
                self._run(SETTLING_MS)
                self._check_everybody_works()
            self.is_closing = True
            self._run(QUIET_MS)
            assert self.broker is not None
            self.witness.check_end(self.broker, self.network.unanswered.values())
        except AssertionError as broken:
            schedule = self.schedule
            recent = "\n".join(schedule.recent)
            raise InvariantBroken(
                f"{broken}\nseed {self.seed}, event {schedule.events}, the last ones:\n{recent}"
            ) from broken

    def _check_everybody_works(self) -> None:
        """After a while without trouble each partition has an owner, and each member one."""
        for group_id, topics in ((CHAIN, [INPUT]), (PLAIN, [INPUT, SIDE])):
            roles = [role.member for role in self._living() if role.member is not None]
            members = [member for member in roles if member.group_id == group_id]
            if any(member.instance_id and not member.is_modern for member in members):
                continue  # a leader that restarts as a static one misses that topics changed
            wanted = {where for topic in topics for where in self.catalogue.partitions(topic)}
            owned = [member.owned for member in members]
            if set[TopicPartition]().union(*owned) != wanted:
                fail("everybody-works", f"members of {group_id} own {owned} of {wanted}")
            if len(members) <= self.catalogue.partition_count(INPUT) and not all(owned):
                fail("everybody-works", f"not every member of {group_id} has something: {owned}")

    def fingerprint(self) -> str:
        """The same for two runs of a seed: what happened when, and every byte that is left."""
        assert self.broker is not None
        digest = blake2b(self.schedule.digest.encode(), digest_size=8)
        for where, partition in sorted(self.broker.storage.partitions.items()):
            log = partition.log
            digest.update(str(where).encode())
            for segment in log.segments:
                digest.update(segment.log.read(0, segment.size))
        return digest.hexdigest()

    def _is_finished(self) -> bool:
        feeder = self._roles[0].process
        is_fed = feeder is not None and not feeder.is_running
        return is_fed and self.witness.is_complete()

    def _run(self, duration_ms: int, is_over: Callable[[], bool] = lambda: False) -> None:
        until_ms = self.schedule.elapsed_ms + duration_ms
        while not is_over():
            try:
                if not self.schedule.step(until_ms):
                    return
            except SimulatedCrash:
                self._crash()
            if self.broker is not None:
                members = [role.member for role in self._living() if role.member is not None]
                self.witness.look(self.broker, members)

    def _living(self) -> list[Role]:
        return [
            role
            for role in (*self._roles, *self._zombies)
            if role.process is not None and role.process.is_running
        ]

    # The broker.

    def _start_broker(self) -> None:
        self.broker = SimulatedBroker(self._constitution, self._disk, self.schedule)
        self.network.serve = self.broker.serve
        self.broker.start()

    def _crash(self) -> None:
        """The broker is gone at this very moment, even while it starts, and comes back later."""
        if self.broker is not None:
            self.broker.is_dead = True
            self.broker = None
        self.schedule.note("power cut" if self.loses_power else "kill -9")
        if self.loses_power:
            # Of what was not synced nothing is left, or any part, torn or not.
            keeps_some = self.rng.random() < 0.6
            torn_pages = self.rng.random() < 0.5
            self._disk = self._disk.crash(self.rng if keeps_some else None, torn_pages=torn_pages)
        else:
            assert isinstance(self._disk, KillableDisk)
            self._disk.survive_kill()
        self.network.break_everything()
        self.schedule.after(self.rng.randrange(50, 1_500), "the broker starts", self._restart)

    def _restart(self) -> None:
        if self.broker is None:
            self._start_broker()

    def _crash_now(self) -> None:
        if self.broker is not None:
            self._crash()

    # The clients.

    def _populate(self) -> None:
        rng = self.rng
        self._roles.append(Role("feeder", self._begin_feeder))
        for index in range(rng.randint(2, 3)):
            version = rng.choice((1, 2))
            begin = partial(self._begin_transformer, f"t{index}", version)
            self._roles.append(Role(f"transformer-{index}", begin))
        for index in range(rng.randint(1, 3)):
            instance = f"i{index}" if rng.random() < 0.4 else None
            reader = partial(self._begin_reader, instance)
            self._roles.append(Role(f"reader-{index}", reader))
        for role in self._roles:
            self.schedule.after(
                rng.randrange(300), f"{role.name} starts", partial(self._start, role)
            )

    def _begin_feeder(self, _role: Role) -> tuple[Life, None]:
        return feed(self, self.new_producer_id(), 6), None

    def _new_member(self, group_id: str, topics: list[str], instance_id: str | None) -> Member:
        kind = self._kinds[group_id]
        is_modern = kind is Kind.CONSUMER or (kind is Kind.MIXED and self.rng.random() < 0.5)
        if is_modern:
            return ModernMember(group_id, topics, instance_id, self.catalogue, self.schedule)
        late = self._kinds[group_id] is not Kind.MIXED
        return ClassicMember(
            group_id, topics, instance_id, self.catalogue, self.schedule, late=late
        )

    def _begin_transformer(
        self, transactional_id: str, version: int, role: Role
    ) -> tuple[Life, Member]:
        member = self._new_member(CHAIN, [INPUT], None)
        producer = TransactionalProducer(
            transactional_id, version, TRANSACTION_TIMEOUT_MS, self.schedule
        )
        is_guest = role.name.startswith("guest")
        return Transformer(self, member, producer, is_guest=is_guest).life(), member

    def _begin_reader(self, instance_id: str | None, _role: Role) -> tuple[Life, Member]:
        member = self._new_member(PLAIN, [INPUT, SIDE], instance_id)
        return Reader(self, member).life(), member

    def _start(self, role: Role) -> None:
        if self.is_closing or (role.process is not None and role.process.is_running):
            return
        life, role.member = role.begin(role)
        process = role.process = Process(role.name, self.network, self.schedule)
        if role.name != "feeder" and role not in self._zombies:
            process.on_end = lambda: self._start_later(role)
        process.run(life)

    def _start_later(self, role: Role) -> None:
        delay_ms = self.rng.randrange(100, 2_000)
        self.schedule.after(delay_ms, f"{role.name} starts again", lambda: self._start(role))

    # What befalls them.

    def _plan_upheaval(self) -> None:
        delay_ms = self.rng.randrange(150, 1_500)
        self.schedule.after(delay_ms, "upheaval", self._upheaval)

    def _upheaval(self) -> None:
        if self.schedule.elapsed_ms >= STORM_MS:
            return
        self._plan_upheaval()
        kinds: tuple[Callable[[], None], ...] = (
            self._crash_now,
            self._crash_soon,
            self._restart_cleanly,
            self._fill_disk,
            self._vanish,
            self._raise_zombie,
            self._change_topics,
            self._delete_group,
            self._compact,
            self._checkpoint,
        )
        self.rng.choices(kinds, weights=(3, 4, 1, 2, 6, 4, 3, 1, 4, 3))[0]()

    def _crash_soon(self) -> None:
        """In the middle of an operation, a few from now."""
        self._disk.crash_at(self.rng.randint(1, 30))

    def _restart_cleanly(self) -> None:
        if self.broker is not None:
            self.schedule.note("the broker stops")
            broker, self.broker = self.broker, None
            broker.stop()
            self.network.break_everything()
            self.schedule.after(self.rng.randrange(50, 500), "the broker starts", self._restart)

    def _fill_disk(self) -> None:
        if self.broker is not None:
            self.schedule.note("the disk is full")
            storage = self.broker.storage
            storage.is_disk_full = True

            def make_room() -> None:
                storage.is_disk_full = False

            self.schedule.after(self.rng.randrange(100, 1_500), "the disk has room", make_room)

    def _vanish(self) -> None:
        living = [role for role in self._living() if role.name != "feeder"]
        if living:
            role = self.rng.choice(living)
            self.schedule.note(f"{role.name} vanishes")
            assert role.process is not None
            role.process.kill()

    def _raise_zombie(self) -> None:
        """A second program under the same transactional id or instance id, or one of its own."""
        original = self.rng.choice(self._roles[1:])
        zombie = Role(f"{original.name}-twin", original.begin)
        if original.name.startswith("transformer") and self.rng.random() < 0.5:
            number = len(self._zombies)
            version = self.rng.choice((1, 2))
            begin = partial(self._begin_transformer, f"z{number}", version)
            zombie = Role(f"guest-{number}", begin)
        self._zombies.append(zombie)
        self.schedule.note(f"{zombie.name} appears")
        self._start(zombie)

    def _change_topics(self) -> None:
        if self.broker is None:
            return
        now_ms = self.schedule.now_ms
        if SIDE not in self.catalogue.topics:
            self.schedule.note(f"{SIDE} is created")
            self.catalogue.create(SIDE, self.rng.randint(1, 2))
            self.broker.storage.lead(SIDE, now_ms)
        elif self.rng.random() < 0.5:
            self.schedule.note(f"{SIDE} grows")
            self.catalogue.grow(SIDE)
            self.broker.storage.lead(SIDE, now_ms)
        else:
            self.schedule.note(f"{SIDE} is deleted")
            self.catalogue.delete(SIDE)
            self.witness.on_topic_deleted(SIDE)
            self.broker.storage.remove(SIDE, now_ms)
        self.broker.on_topics_changed()

    def _delete_group(self) -> None:
        """An administrator deletes a group, if nobody is in it."""
        request = DeleteGroupsRequest(groups_names=[PLAIN])
        process = Process("administrator", self.network, self.schedule)
        process.run(ask_once(request, 2))

    def _compact(self) -> None:
        if self.broker is not None:
            internal = [
                where for where in self.broker.storage.partitions if where.topic.startswith("__")
            ]
            where = self.rng.choice(internal)
            self.schedule.note(f"{where} is compacted")
            self.broker.storage.compact(where, self.schedule.now_ms)

    def _checkpoint(self) -> None:
        if self.broker is not None:
            self.broker.storage.directory.write_checkpoints()

    def _heal(self) -> None:
        """No more faults from here on."""
        self.schedule.note("everything heals")
        self.network.weather = Weather()
        self._disk.crash_at(_NEVER)
        if self.broker is not None:
            self.broker.storage.is_disk_full = False
        for zombie in self._zombies:
            if zombie.process is not None:
                zombie.process.kill()
        for role in self._living():
            # A crash may have come between a mixed group's way back to the classic protocol and
            # the rebalance that gives out what the last modern member had. As in Kafka nobody
            # remembers that one is due; the next member that comes brings it about.
            if role.member is not None and self._kinds[role.member.group_id] is Kind.MIXED:
                assert role.process is not None
                role.process.kill()
