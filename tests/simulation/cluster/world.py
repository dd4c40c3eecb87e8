"""A whole cluster from one seed: brokers, ZooKeeper, clients, networks, and what befalls them.

First the brokers start and topics are created. Then there is a storm: `upheavals` lists what
happens. Then everything heals: brokers that are down start again, cuts are mended, the work is
finished, every replica gets in sync. At last there is a long quiet, in which nothing may change any
more. The witness looks after every turn of every broker.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from hashlib import blake2b
from random import Random
from typing import Any, Final, cast

from headrace.cluster.broker_config import BrokerConfig
from headrace.records.batch import read_header
from headrace.testing.random_streams import RandomStreams
from headrace.testing.schedule import Schedule
from headrace.testing.simulated_loop import SimulatedLoop
from headrace.testing.simulated_network import SimulatedNetwork, Weather
from headrace.types import TopicPartition
from tests.simulation.applications import INPUT
from tests.simulation.catalogue import Catalogue, Topic
from tests.simulation.cluster import faults
from tests.simulation.cluster.keeper import Keeper
from tests.simulation.cluster.law import State
from tests.simulation.cluster.lives import BrokerDisk, BrokerLife, MachineClock, data_disk
from tests.simulation.cluster.population import CHAIN, Population
from tests.simulation.cluster.queues import QueueWitness
from tests.simulation.cluster.quotas import QuotaWitness
from tests.simulation.cluster.settings import Settings, draw_settings
from tests.simulation.cluster.upheavals import LOSES_POWER, Kind, Upheaval, plan
from tests.simulation.cluster.verdict import check_end
from tests.simulation.cluster.witness import Witness
from tests.simulation.failure import InvariantBroken, fail
from tests.simulation.producers import Attempt

CALM_MS: Final = 3_000
STORM_MS: Final = 24_000
HEALING_MS: Final = 90_000
CLOSING_MS: Final = 20_000
_POLLS: Final = 400
_FEW_BROKERS: Final = 3  # which have the replicas of everything


class Machine:
    """What a broker leaves behind when it ends, and finds when it starts again."""

    def __init__(self, broker_id: int, config: BrokerConfig, clock: MachineClock) -> None:
        self.id = broker_id
        self.config = config
        self.name = f"b{broker_id}"
        self.disk: BrokerDisk = data_disk()
        self.clock = clock
        self.life: BrokerLife | None = None
        self.wants_to_run = True

    @property
    def is_up(self) -> bool:
        return self.life is not None and not self.life.is_dead

    @property
    def serves(self) -> bool:
        return self.is_up and self.life is not None and self.life.running is not None

    @property
    def has_lost_directory(self) -> bool:
        assert self.life is not None
        assert self.life.running is not None
        storage = self.life.running.broker.storage
        return not all(directory.online for directory in storage.directories)


class ClusterWorld:
    """See the module.

    The quiet is `stretch` times as long as usual. `without` are numbers of upheavals, and kinds,
    that do not happen; `fair_weather` is a network that loses and repeats nothing. With `quotas`
    there are clients that want more than they may have, with `queues` workers that share a queue.
    """

    def __init__(
        self,
        seed: int,
        *,
        stretch: float = 1.0,
        without: Collection[int | Kind] = (),
        fair_weather: bool = False,
        quotas: QuotaWitness | None = None,
        queues: QueueWitness | None = None,
        storyteller: Callable[[str], None] | None = None,
        tells_logs: bool = False,
    ) -> None:
        self.seed = seed
        self.schedule = Schedule(seed)
        self.chance = RandomStreams(seed)
        self.settings: Settings = draw_settings(self.chance.of("settings"))
        self.is_closing = False
        self.quotas = quotas
        self.queues = queues
        self.catalogue = Catalogue(lambda: cast(Any, None))
        self._stretch = stretch
        rng = self.chance.of("world")
        weather = Weather(
            max_delay_ms=rng.choice((3, 20, 60)),
            loss=rng.choice((0, 0, 0.005, 0.02)),
            repeats=rng.choice((0, 0.02, 0.08)),
        )
        self.network = SimulatedNetwork(
            self.schedule, self.chance, Weather() if fair_weather else weather
        )
        self.keeper = Keeper(
            self.schedule,
            self.chance.of("keeper"),
            self.settings.session_timeout_ms,
            self._is_cut_from_keeper,
        )
        self.machines = {
            number: Machine(number, self.settings.of_broker(number), MachineClock(self.schedule))
            for number in range(1, self.settings.brokers + 1)
        }
        self.witness = Witness(
            self.keeper.store,
            self.catalogue,
            CHAIN,
            is_up=lambda broker_id: self.machines[broker_id].is_up,
            allows_unclean=self.settings.allows_unclean,
            min_in_sync=self.settings.min_in_sync,
            is_strict=self.settings.is_strict,
        )
        self.upheavals = self._plan(without)
        self._storyteller = storyteller
        self.tells_logs = tells_logs
        self.population = Population(self)
        self._wire()

    def _quiet_ms(self) -> int:
        """As long as the followers' long polls make it cheap."""
        pairs = self.settings.brokers * (self.settings.brokers - 1)
        return int(self._stretch * _POLLS * self.settings.fetch_wait_ms / pairs)

    def _plan(self, without: Collection[int | Kind]) -> list[Upheaval]:
        kinds = set(Kind) - {each for each in without if isinstance(each, Kind)}
        if not self.settings.loses_power:
            kinds -= LOSES_POWER - {Kind.CRASH_SOON}
        pause_ms = self.chance.of("world").choice((700, 1_500, 3_000))
        wanted = plan(self.chance, CALM_MS, CALM_MS + STORM_MS, pause_ms, set(Kind))
        return [each for each in wanted if each.kind in kinds and each.number not in without]

    def _wire(self) -> None:
        witness = self.witness
        self.network.on_arrival = witness.guard("on_arrival")
        self.network.on_answer = witness.guard("on_answer")
        if self.quotas is not None:
            self.network.on_answer = self.quotas.beside(self.network.on_answer, self.schedule)
        if self.queues is not None:
            self.queues.watch(self)
        self.network.on_refused = self._on_refused
        on_change = witness.law.on_change

        def changed(where: TopicPartition, before: State | None, after: State | None) -> None:
            on_change(where, before, after)
            self._update_catalogue(where.topic)

        witness.law.on_change = changed

    def _update_catalogue(self, name: str) -> None:
        law = self.witness.law
        count = sum(where.topic == name for where in law.states)
        topic_id = law.topics.get(name)
        self.catalogue.epoch += 1
        if topic_id is None:
            self.catalogue.topics.pop(name, None)
        else:
            self.catalogue.topics[name] = Topic(topic_id, count)

    def _on_refused(self, life: Any, reason: str) -> None:
        broken = InvariantBroken(f"no-exceptions: {life.name} breaks a connection: {reason}")
        self.witness.broken = self.witness.broken or broken

    def _is_cut_from_keeper(self, name: str) -> bool:
        cuts = self.network.cuts
        return (name, "zk") in cuts or ("zk", name) in cuts

    # What programs ask of the world.

    def begin_attempt(self, transactional_id: str, group_id: str) -> Attempt:
        return self.witness.transactions.begin(transactional_id, group_id)

    def written(self, where: TopicPartition, value: bytes) -> None:
        self.witness.written.setdefault(where, []).append(value)

    def may_lose(self, where: TopicPartition) -> bool:
        committed = self.witness.committed.get(where)
        return committed is None or committed.era > 0

    def holds(self, where: TopicPartition, batch: bytes) -> bool:
        committed = self.witness.committed.get(where)
        crc = read_header(batch).crc
        return committed is not None and any(each.crc == crc for each in committed.batches)

    def broker_names(self) -> Sequence[str]:
        return [machine.name for machine in self.machines.values()]

    # The story.

    def run(self) -> None:
        """Live through it all; AssertionError with the seed if an invariant breaks."""
        errors = _Errors(self)
        logging.getLogger().addHandler(errors)
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            self._live()
        except AssertionError as broken:
            schedule = self.schedule
            recent = "\n".join(schedule.recent)
            raise InvariantBroken(
                f"{broken}\nseed {self.seed}, event {schedule.events}, the last ones:\n{recent}"
            ) from broken
        finally:
            logging.getLogger().removeHandler(errors)
            for machine in self.machines.values():
                if machine.life is not None:
                    machine.life.loop.end()
            if was_enabled:
                gc.enable()

    def _live(self) -> None:
        latecomer = self._latecomer()
        for machine in self.machines.values():
            if machine.id != latecomer:
                self.start(machine)
        self.population.begin()
        for upheaval in self.upheavals:
            self.schedule.after(
                upheaval.at_ms, f"upheaval {upheaval.number}", partial(self._befall, upheaval)
            )
        self._run(CALM_MS + STORM_MS)
        self._heal()
        self._run(HEALING_MS, self._is_finished)
        if not self._is_finished():
            fail("progress", self._what_is_missing())
        self.is_closing = True
        self._run(CLOSING_MS, lambda: not self.population.living())
        if self.population.living():
            fail(
                "progress",
                f"{[role.name for role in self.population.living()]} do not come to an end",
            )
        self._run(HEALING_MS, self.witness.is_in_sync)
        self._run(5_000)
        elections = self.witness.law.elections
        self._run(self._quiet_ms())
        lives = [machine.life for machine in self.machines.values() if machine.life is not None]
        self.witness.look_at_groups(lives)
        check_end(self.witness, self.keeper.store, lives)
        if self.queues is not None:
            self.queues.check_end()
        if elections != self.witness.law.elections:
            fail("images-agree", "another controller was elected although all were well")

    def _latecomer(self) -> int | None:
        """A broker that joins the cluster when others have worked for a while."""
        rng = self.chance.of("latecomer")
        if self.settings.brokers <= _FEW_BROKERS or rng.random() < 0.5:
            return None
        machine = self.machines[self.settings.brokers]
        at_ms = CALM_MS + rng.randrange(STORM_MS // 2)
        self.schedule.after(at_ms, f"{machine.name} joins", lambda: self.start(machine))
        return machine.id

    def _befall(self, upheaval: Upheaval) -> None:
        told = faults.HAPPENINGS[upheaval.kind](self, upheaval.rng)
        if told is not None:
            self.tell(f"({upheaval.number}) {told}")

    def tell(self, sentence: str) -> None:
        """A sentence of the story."""
        self.schedule.note(sentence)
        if self._storyteller is not None:
            self._storyteller(f"{self.schedule.elapsed_ms / 1000:8.3f} s  {sentence}")

    def _run(self, duration_ms: int, is_over: Callable[[], bool] = lambda: False) -> None:
        schedule, witness = self.schedule, self.witness
        until_ms = schedule.elapsed_ms + duration_ms
        look_again_ms = 0
        while True:
            if schedule.elapsed_ms >= look_again_ms:
                look_again_ms = schedule.elapsed_ms + 500
                if is_over():
                    return
            if not schedule.step(until_ms):
                schedule.clock.advance(until_ms - schedule.elapsed_ms)
                return
            if witness.broken is not None:
                raise witness.broken

    # Brokers.

    def start(self, machine: Machine) -> None:
        """Let a broker start, if it does not run."""
        if machine.is_up or not machine.wants_to_run:
            return
        self.schedule.note(f"{machine.name} starts")
        life = machine.life = BrokerLife(
            machine.id,
            machine.config,
            machine.disk,
            machine.clock,
            self.keeper,
            self.network,
            self.schedule,
            self.chance,
        )
        life.loop.after_turn = lambda: self._after_turn(machine, life)
        life.on_decision = self.witness.law.on_decision
        life.begin()

    def _after_turn(self, machine: Machine, life: BrokerLife) -> None:
        if life.disk.is_crashed:
            self.crash(machine, loses_power=self.settings.loses_power)
            return
        if life.fault is not None:
            # It could not start; whoever looks after it tries again.
            self.schedule.note(f"{life.name} gives up its start: {life.fault!r}")
            if not isinstance(life.fault, Exception):
                raise life.fault
            self.crash(machine, loses_power=False)
            return
        if life.loop.faults:
            fault = life.loop.faults[0]
            raise InvariantBroken(f"no-exceptions: {life.name}: {fault!r}") from fault
        try:
            self.witness.look_at(life)
        except InvariantBroken as broken:
            self.witness.broken = self.witness.broken or broken

    def crash(
        self,
        machine: Machine,
        *,
        loses_power: bool,
        loses_disk: bool = False,
        rng: Random | None = None,
    ) -> None:
        """A broker is gone at this very moment, and comes back later."""
        life = machine.life
        if life is None or life.is_dead:
            return
        rng = rng or self.chance.of("crashes", machine.id)
        life.kill()
        if loses_disk:
            machine.disk.after_kill()
            machine.disk = data_disk()
            self.witness.promises.on_disk_lost(machine.id)
        elif loses_power:
            # Of what was not synced nothing is left, or any part, torn or not.
            keeps_some, torn_pages = rng.random() < 0.6, rng.random() < 0.5
            machine.disk = machine.disk.after_power_cut(
                rng if keeps_some else None, torn_pages=torn_pages
            )
            self.witness.promises.on_power_cut(machine.id)
        else:
            machine.disk = machine.disk.after_kill()
            self.witness.promises.on_end(machine.id)
        delay_ms = rng.randrange(50, 4_000)
        self.schedule.after(delay_ms, f"{machine.name} is started", lambda: self.start(machine))

    def stop(self, machine: Machine, delay_ms: int) -> None:
        """SIGTERM, and a new start."""
        life = machine.life
        if life is None or not machine.serves:
            return

        def ended() -> None:
            if life.is_dead:
                return
            life.kill()
            machine.disk = machine.disk.after_kill()
            self.witness.promises.on_end(machine.id)
            self.schedule.after(delay_ms, f"{machine.name} is started", lambda: self.start(machine))

        life.shut_down(ended)

    # The end of the storm.

    def _heal(self) -> None:
        """No more faults from here on."""
        self.tell("everything heals")
        self.network.weather = Weather()
        self.network.heal(list(self.network.cuts))
        for machine in self.machines.values():
            machine.wants_to_run = True
            faults.resume(self, machine)
            machine.disk.crash_at(1 << 62)
            machine.disk.capacity_bytes = None
            if machine.life is not None:
                machine.life.disk.capacity_bytes = None
            if machine.serves and machine.has_lost_directory:
                # An operator sees it, makes room, and starts the broker again.
                self.crash(machine, loses_power=False)
            self.start(machine)
        self.keeper.look_at_links()

    def _is_finished(self) -> bool:
        if any(
            role.is_finite and role in self.population.living() for role in self.population.roles
        ):
            return False
        self.witness.look_at_groups(
            machine.life for machine in self.machines.values() if machine.life is not None
        )
        return bool(self.witness.losses) or not self._untransformed()

    def _untransformed(self) -> list[TopicPartition]:
        chain = self.witness.offsets.chain
        found = []
        for where, committed in self.witness.committed.items():
            if where.topic == INPUT:
                visible = committed.visible_between(0, committed.stable)
                last = visible[-1].offset + 1 if visible else 0
                if chain.get(where, 0) < last:
                    found.append(where)
        return found

    def _what_is_missing(self) -> str:
        busy = [role.name for role in self.population.living() if role.is_finite]
        return (
            f"{busy} have not finished; not transformed: {self._untransformed()}, committed is "
            f"{self.witness.offsets.chain}; the partitions are {self.witness.law.states}"
        )

    def fingerprint(self) -> str:
        """The same for two runs of a seed: what happened when, and every byte that is left."""
        digest = blake2b(self.schedule.digest.encode(), digest_size=8)
        for machine in self.machines.values():
            assert machine.life is not None
            assert machine.life.running is not None
            partitions = machine.life.running.broker.storage.partitions
            for where, partition in sorted(partitions.items()):
                digest.update(str(where).encode())
                for segment in partition.log.segments:
                    digest.update(segment.log.read(0, segment.size))
        return digest.hexdigest()


def _who_runs() -> str:
    loop = asyncio._get_running_loop()
    return loop.name if isinstance(loop, SimulatedLoop) else "-"


class _Errors(logging.Handler):
    """An exception that was logged is one that nobody expected; the rest may be of interest."""

    def __init__(self, world: ClusterWorld) -> None:
        super().__init__(logging.WARNING)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        if self._world.tells_logs:
            self._world.tell(f"[{_who_runs()}] {record.getMessage()}")
        fault = record.exc_info[1] if record.exc_info else None
        if fault is not None and getattr(fault, "errno", 0) != errno.ENOSPC:
            broken = InvariantBroken(f"no-exceptions: {record.getMessage()}: {fault!r}")
            broken.__cause__ = fault
            self._world.witness.broken = self._world.witness.broken or broken
