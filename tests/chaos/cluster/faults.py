"""What the nemesis can do to a cluster. Each fault is one function that strikes, waits and undoes
most of it; `Cluster.mend` does the rest. It returns whom it struck, for the report.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.chaos.cluster.hunting import GROUP, TRANSACTION, Hunter
from tests.chaos.cluster.network import CLIENTS
from tests.chaos.cluster.reassigning import cancel_all, elect_preferred, move, shuffled
from tests.chaos.cluster.systems import ZOOKEEPER, Cluster
from tests.chaos.cluster.topics import COPIERS, PARTITIONS, PROBE, TOPICS, TRANSACTIONAL_ID

FLAP_SECONDS = 0.4
FAILOVER_SECONDS = 40


@dataclass(frozen=True, slots=True)
class Scene:
    """What a fault works with."""

    cluster: Cluster
    hunter: Hunter
    rng: random.Random
    session_timeout_ms: int

    @property
    def session_seconds(self) -> float:
        return self.session_timeout_ms / 1000

    def any_broker(self) -> int:
        return self.rng.choice(sorted(self.cluster.brokers))

    def any_leader(self) -> tuple[int, str]:
        partition = self.rng.randrange(PARTITIONS)
        broker = self.hunter.leader(PROBE, partition)
        return broker, f"broker {broker}, leader of {PROBE}/{partition}"

    def brief_or_lasting(self) -> float:
        """Too short for anyone to notice, or longer than the session."""
        share = self.rng.choice((0.3, 0.8, 1.5, 2.0))
        return share * self.session_seconds


Fault = Callable[[Scene], str]


def kill_leader(scene: Scene) -> str:
    """kill -9; it stays down until others lead what it led."""
    broker, who = scene.any_leader()
    return _kill_until_replaced(scene, broker, who)


def kill_controller(scene: Scene) -> str:
    broker = scene.hunter.controller()
    return _kill_until_replaced(scene, broker, f"broker {broker}, the controller")


def kill_coordinator(scene: Scene) -> str:
    kind, key = scene.rng.choice(((GROUP, COPIERS), (TRANSACTION, TRANSACTIONAL_ID)))
    broker = scene.hunter.coordinator(kind, key)
    return _kill_until_replaced(scene, broker, f"broker {broker}, coordinator of {key}")


def kill_briefly(scene: Scene) -> str:
    """kill -9 and a start at once: the session of the former life still stands."""
    broker, who = scene.any_leader()
    scene.cluster.brokers[broker].kill()
    scene.cluster.mend()
    return who


def _kill_until_replaced(scene: Scene, broker: int, who: str) -> str:
    scene.cluster.brokers[broker].kill()
    replaced = scene.hunter.await_leaders(PROBE, broker, FAILOVER_SECONDS)
    time.sleep(1)
    scene.cluster.mend()
    return who if replaced else f"{who}; nobody replaced it in {FAILOVER_SECONDS} s"


def pause_leader(scene: Scene) -> str:
    """SIGSTOP, SIGCONT: it comes back and believes that it still leads."""
    broker, who = scene.any_leader()
    return _pause(scene, broker, who)


def pause_controller(scene: Scene) -> str:
    broker = scene.hunter.controller()
    return _pause(scene, broker, f"broker {broker}, the controller")


def _pause(scene: Scene, broker: int, who: str) -> str:
    seconds = scene.brief_or_lasting()
    node = scene.cluster.brokers[broker]
    node.freeze()
    time.sleep(seconds)
    node.thaw()
    return f"{who}, for {seconds:.1f} s"


def cut_leader(scene: Scene) -> str:
    """A leader that clients still reach is cut off from all others, ZooKeeper too."""
    broker, who = scene.any_leader()
    node = scene.cluster.brokers[broker].name
    for other in _others(scene, node):
        _cut_both_ways(scene, node, other)
    return _hold_and_heal(scene, f"{who}, from all nodes")


def cut_from_store(scene: Scene) -> str:
    """A leader is cut off from ZooKeeper alone; or, without one, from the active controller."""
    broker, who = scene.any_leader()
    node = scene.cluster.brokers[broker].name
    if ZOOKEEPER in scene.cluster.others:
        store = ZOOKEEPER
    else:
        store = scene.cluster.brokers[scene.hunter.controller()].name
    if store != node:
        _cut_both_ways(scene, node, store)
    return _hold_and_heal(scene, f"{who}, from {store}")


def cut_one_way(scene: Scene) -> str:
    """What a leader sends to another broker gets lost; what the other sends arrives."""
    broker, who = scene.any_leader()
    node = scene.cluster.brokers[broker].name
    other = scene.rng.choice(_others(scene, node))
    source, target = scene.rng.choice(((node, other), (other, node)))
    scene.cluster.network.cut(source, target)
    return _hold_and_heal(scene, f"{who}, {source} to {target}")


def cut_from_clients(scene: Scene) -> str:
    broker, who = scene.any_leader()
    _cut_both_ways(scene, scene.cluster.brokers[broker].name, CLIENTS)
    return _hold_and_heal(scene, f"{who}, from clients")


def slow_link(scene: Scene) -> str:
    broker, who = scene.any_leader()
    scene.cluster.network.slow(scene.cluster.brokers[broker].name)
    return _hold_and_heal(scene, who)


def flap_link(scene: Scene) -> str:
    """A cable with a loose plug: cut and whole several times a second."""
    broker, who = scene.any_leader()
    node = scene.cluster.brokers[broker].name
    until = time.monotonic() + 1.5 * scene.session_seconds
    while time.monotonic() < until:
        for other in _others(scene, node):
            _cut_both_ways(scene, node, other)
        time.sleep(FLAP_SECONDS * scene.rng.random())
        scene.cluster.network.heal()
        time.sleep(FLAP_SECONDS * scene.rng.random())
    return who


def fill_disk(scene: Scene) -> str:
    """A broker's disk is full for a while; then there is space again, and it is started anew."""
    broker, who = scene.any_leader()
    disk, node = scene.cluster.disks[broker], scene.cluster.brokers[broker]
    disk.fill()
    time.sleep(scene.brief_or_lasting())
    disk.empty()
    node.stop()
    scene.cluster.mend()
    return who


def roll(scene: Scene) -> str:
    """Every broker is stopped in order and started again, one after the other."""
    for node in scene.cluster.brokers.values():
        node.stop()
        scene.cluster.mend()
        scene.hunter.await_in_sync(TOPICS, FAILOVER_SECONDS)
    return "all brokers"


def restart_zookeeper(scene: Scene) -> str:
    node = scene.cluster.others[ZOOKEEPER]
    node.kill()
    seconds = scene.brief_or_lasting()
    time.sleep(seconds)
    scene.cluster.mend()
    return f"down for {seconds:.1f} s"


def reassign(scene: Scene) -> str:
    """Replicas move; in half of the cases a broker dies while they do."""
    cluster, hunter = scene.cluster, scene.hunter
    topic = scene.rng.choice(TOPICS)
    wanted = shuffled(scene.rng, hunter.replicas(topic), sorted(cluster.brokers))
    move(cluster, topic, wanted)
    told = f"{topic}: {len(wanted)} partitions move"
    if scene.rng.random() < 0.5:
        broker = scene.any_broker()
        cluster.brokers[broker].kill()
        time.sleep(scene.brief_or_lasting())
        cluster.mend()
        told += f", broker {broker} dies"
    if scene.rng.random() < 0.3:
        cancel_all(cluster, topic)
        told += ", called off"
    hunter.await_in_sync((topic,), FAILOVER_SECONDS)
    return told


def elect(scene: Scene) -> str:
    """Leaders go back to the preferred replicas."""
    elect_preferred(scene.cluster)
    return "all partitions"


def _others(scene: Scene, node: str) -> list[str]:
    all_nodes = [*scene.cluster.brokers.values(), *scene.cluster.others.values()]
    return [each.name for each in all_nodes if each.name != node]


def _cut_both_ways(scene: Scene, one: str, other: str) -> None:
    scene.cluster.network.cut(one, other)
    scene.cluster.network.cut(other, one)


def _hold_and_heal(scene: Scene, who: str) -> str:
    seconds = scene.brief_or_lasting()
    time.sleep(seconds)
    scene.cluster.network.heal()
    return f"{who}, for {seconds:.1f} s"


FAULTS: Mapping[str, Mapping[str, Fault]] = {
    "kill": {
        "kill-leader": kill_leader,
        "kill-controller": kill_controller,
        "kill-coordinator": kill_coordinator,
        "kill-briefly": kill_briefly,
    },
    "pause": {"pause-leader": pause_leader, "pause-controller": pause_controller},
    "cut": {
        "cut-leader": cut_leader,
        "cut-from-store": cut_from_store,
        "cut-one-way": cut_one_way,
        "cut-from-clients": cut_from_clients,
    },
    "slow": {"slow-link": slow_link},
    "flap": {"flap-link": flap_link},
    "disk": {"fill-disk": fill_disk},
    "roll": {"roll": roll},
    "zookeeper": {"restart-zookeeper": restart_zookeeper},
    "reassign": {"reassign": reassign},
    "elect": {"elect": elect},
}


def possible(cluster: Cluster, kinds: list[str]) -> dict[str, Fault]:
    """The faults of these kinds that can be had here."""
    wanted = {name: fault for kind in kinds for name, fault in FAULTS[kind].items()}
    if not all(disk.can_be_filled for disk in cluster.disks.values()):
        wanted.pop("fill-disk", None)
    if ZOOKEEPER not in cluster.others:
        wanted.pop("restart-zookeeper", None)
    return wanted
