"""How each kind of upheaval comes about; each returns the sentence that tells it, or None."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final

from headrace.types import TopicPartition
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.simulation.applications import SIDE
from tests.simulation.cluster.clients import ClusterProcess
from tests.simulation.cluster.population import create_request
from tests.simulation.cluster.settings import RISKY
from tests.simulation.cluster.upheavals import Kind
from tests.simulation.processes import Ask, Life

if TYPE_CHECKING:
    from tests.simulation.cluster.world import ClusterWorld, Machine

Happening = Callable[["ClusterWorld", Random], str | None]

_PREFERRED: Final = 0
_UNCLEAN: Final = 1


def _someone(world: ClusterWorld, rng: Random) -> Machine | None:
    """A broker that runs; more often one that matters than chance alone would have it."""
    running = [machine for machine in world.machines.values() if machine.is_up]
    number = rng.randrange(1 << 30)
    if rng.random() < 0.5 and world.witness.law.states:
        states = sorted(world.witness.law.states.items())
        leader = states[number % len(states)][1].leader
        running = [machine for machine in running if machine.id == leader] or running
    return running[number % len(running)] if running else None


def _for_a_while(
    world: ClusterWorld, pairs: list[tuple[str, str]], rng: Random, longest_ms: int
) -> float:
    world.network.cut(pairs)
    world.keeper.look_at_links()
    delay_ms = rng.randrange(200, longest_ms)

    def mend() -> None:
        world.network.heal(pairs)
        world.keeper.look_at_links()

    world.schedule.after(delay_ms, "a cut is mended", mend)
    return delay_ms / 1000


def kill(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    world.crash(machine, loses_power=False, rng=rng)
    return f"{machine.name} is killed"


def power_cut(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    world.crash(machine, loses_power=True, rng=rng)
    return f"{machine.name} loses power"


def blackout(world: ClusterWorld, rng: Random) -> str | None:
    count = rng.randint(2, len(world.machines))
    chosen = rng.sample(sorted(world.machines), count)
    for number in chosen:
        world.crash(world.machines[number], loses_power=True, rng=rng)
    return f"brokers {sorted(chosen)} lose power at once"


def crash_soon(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    count = rng.randint(1, 25)
    machine.disk.crash_at(count)
    return f"{machine.name} will die in its {count}. write from now"


def restart(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None or not machine.serves:
        return None
    world.stop(machine, rng.randrange(50, 2_000))
    return f"{machine.name} is told to stop and is started again"


def leave(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None or not machine.serves:
        return None
    delay_ms = rng.randrange(5_000, 15_000)
    world.stop(machine, delay_ms)
    return f"{machine.name} is shut down, and started again {delay_ms / 1000} s later"


def replace(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    world.crash(machine, loses_power=False, loses_disk=True, rng=rng)
    return f"{machine.name} dies with its disk, and comes back with an empty one"


def pause(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None or machine.life is None:
        return None
    life = machine.life
    life.loop.stop()
    world.keeper.look_at_links()
    delay_ms = rng.choice((rng.randrange(100, 1_000), rng.randrange(1_000, 8_000)))
    world.schedule.after(
        delay_ms, f"{machine.name} may go on", lambda: _go_on(world, machine, life)
    )
    return f"{machine.name} is stopped for {delay_ms / 1000} s"


def _go_on(world: ClusterWorld, machine: Machine, life: Any) -> None:
    if machine.life is life:
        resume(world, machine)


def resume(world: ClusterWorld, machine: Machine) -> None:
    life = machine.life
    if life is not None and life.is_stopped and not life.is_dead:
        world.schedule.note(f"{machine.name} goes on")
        life.loop.go_on()
        world.network.release()
        world.keeper.look_at_links()


def isolate(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    others = [each.name for each in world.machines.values() if each is not machine]
    if rng.random() < 0.3:
        others.append("zk")
    pairs = [(machine.name, other) for other in others]
    pairs += [(other, machine.name) for other in others]
    seconds = _for_a_while(world, pairs, rng, 8_000)
    return f"{machine.name} is cut off from {', '.join(others)} for {seconds} s"


def cut_one_way(world: ClusterWorld, rng: Random) -> str | None:
    deaf, unheard = rng.sample(sorted(world.machines), 2)
    seconds = _for_a_while(world, [(f"b{unheard}", f"b{deaf}")], rng, 8_000)
    return f"b{deaf} does not hear b{unheard} for {seconds} s"


def lose_zookeeper(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    seconds = _for_a_while(world, [(machine.name, "zk"), ("zk", machine.name)], rng, 9_000)
    return f"{machine.name} does not reach ZooKeeper for {seconds} s, and serves its clients"


def expire_session(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None or machine.life is None or machine.life.tree is None:
        return None
    machine.life.tree.expire()
    return f"ZooKeeper ends the session of {machine.name}"


def reset_zookeeper(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None or machine.life is None or machine.life.tree is None:
        return None
    machine.life.tree.reset()
    return f"the connection of {machine.name} to ZooKeeper breaks"


def cut_client(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    names = [role.name for role in world.population.roles if rng.random() < 0.5]
    pairs = [(name, machine.name) for name in names]
    if rng.random() < 0.5:
        pairs = [(machine.name, name) for name in names]
    seconds = _for_a_while(world, pairs, rng, 5_000)
    return f"{machine.name} and {len(names)} clients do not hear each other for {seconds} s"


def set_clock(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    machine.clock.skew_ms = rng.choice((-1, 1)) * rng.randrange(100, 20_000)
    return f"the clock of {machine.name} is set, by {machine.clock.skew_ms / 1000} s"


def fill_disk(world: ClusterWorld, rng: Random) -> str | None:
    machine = _someone(world, rng)
    if machine is None:
        return None
    disk = machine.disk
    disk.capacity_bytes = 1

    def make_room() -> None:
        disk.capacity_bytes = None
        machine.disk.capacity_bytes = None

    delay_ms = rng.randrange(200, 3_000)
    world.schedule.after(delay_ms, f"{machine.name} has room again", make_room)
    return f"the disk of {machine.name} is full for {delay_ms / 1000} s"


# What administrators do.


def _ask(world: ClusterWorld, request: Any, version: int, rng: Random) -> None:
    def life() -> Life:
        yield Ask("admin", request, version, 4_000)

    ClusterProcess("c/operator", world.network, world.schedule, rng, world.broker_names).run(life())


def _some_partition(world: ClusterWorld, rng: Random, topic: str | None = None) -> Any:
    known = [
        where for where in sorted(world.witness.law.states) if topic is None or where.topic == topic
    ]
    return rng.choice(known) if known else None


def reassign(world: ClusterWorld, rng: Random) -> str | None:
    where: TopicPartition | None = _some_partition(world, rng)
    if where is None:
        return None
    before = world.witness.law.states[where].replicas
    count = len(before)
    if where.topic == RISKY or rng.random() < 0.2:
        count = rng.randint(1 if where.topic == RISKY else 2, len(world.machines))
    wanted = rng.sample(sorted(world.machines), min(max(count, 2), len(world.machines)))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=3_000,
        topics=[
            ReassignableTopic(
                name=where.topic,
                partitions=[
                    ReassignablePartition(partition_index=where.partition, replicas=wanted)
                ],
            )
        ],
    )
    _ask(world, request, 1, rng)
    return f"{where} shall move from {list(before)} to {wanted}"


def cancel(world: ClusterWorld, rng: Random) -> str | None:
    where: TopicPartition | None = _some_partition(world, rng)
    if where is None:
        return None
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=3_000,
        topics=[
            ReassignableTopic(
                name=where.topic,
                partitions=[ReassignablePartition(partition_index=where.partition, replicas=None)],
            )
        ],
    )
    _ask(world, request, 1, rng)
    return f"the move of {where} is called off, if there is one"


def _elect(world: ClusterWorld, rng: Random, kind: int, topic: str | None) -> TopicPartition | None:
    where: TopicPartition | None = _some_partition(world, rng, topic)
    if where is not None:
        request = ElectLeadersRequest(
            election_type=kind,
            topic_partitions=[TopicPartitions(topic=where.topic, partitions=[where.partition])],
            timeout_ms=3_000,
        )
        _ask(world, request, 2, rng)
    return where


def elect_preferred(world: ClusterWorld, rng: Random) -> str | None:
    where = _elect(world, rng, _PREFERRED, None)
    return None if where is None else f"the preferred replica shall lead {where}"


def elect_unclean(world: ClusterWorld, rng: Random) -> str | None:
    where = _elect(world, rng, _UNCLEAN, RISKY)
    return None if where is None else f"any replica shall lead {where}"


def change_topics(world: ClusterWorld, rng: Random) -> str | None:
    if SIDE not in world.catalogue.topics:
        topic = world.settings.topics[SIDE]
        _ask(world, create_request(SIDE, topic, world.settings.segment_bytes), 7, rng)
        return f"{SIDE} is created"
    if rng.random() < 0.5:
        count = world.catalogue.partition_count(SIDE) + 1
        topics = [CreatePartitionsTopic(name=SIDE, count=count, assignments=None)]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=3_000, validate_only=False)
        _ask(world, request, 3, rng)
        return f"{SIDE} shall have {count} partitions"
    topic_id = world.catalogue.topics[SIDE].topic_id
    states = [DeleteTopicState(name=None, topic_id=topic_id)]
    _ask(world, DeleteTopicsRequest(topics=states, timeout_ms=3_000), 6, rng)
    return f"{SIDE} is deleted"


def vanish(world: ClusterWorld, rng: Random) -> str | None:
    living = [
        role
        for role in world.population.roles
        if not role.is_finite and role.process is not None and role.process.is_running
    ]
    if not living:
        return None
    role = rng.choice(living)
    assert role.process is not None
    role.process.kill()
    return f"{role.name} vanishes, and comes again"


HAPPENINGS: Final[dict[Kind, Happening]] = {
    Kind.KILL: kill,
    Kind.POWER_CUT: power_cut,
    Kind.BLACKOUT: blackout,
    Kind.CRASH_SOON: crash_soon,
    Kind.RESTART: restart,
    Kind.LEAVE: leave,
    Kind.REPLACE: replace,
    Kind.PAUSE: pause,
    Kind.ISOLATE: isolate,
    Kind.CUT_ONE_WAY: cut_one_way,
    Kind.LOSE_ZOOKEEPER: lose_zookeeper,
    Kind.EXPIRE_SESSION: expire_session,
    Kind.RESET_ZOOKEEPER: reset_zookeeper,
    Kind.CUT_CLIENT: cut_client,
    Kind.SET_CLOCK: set_clock,
    Kind.FILL_DISK: fill_disk,
    Kind.REASSIGN: reassign,
    Kind.CANCEL: cancel,
    Kind.ELECT_PREFERRED: elect_preferred,
    Kind.ELECT_UNCLEAN: elect_unclean,
    Kind.CHANGE_TOPICS: change_topics,
    Kind.VANISH: vanish,
}
