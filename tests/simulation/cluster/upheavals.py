"""What befalls a cluster, decided before it begins: a list that can be read, and made shorter.

Each upheaval has a number, a moment, a kind, and a stream of chance of its own. So a world without
number seven is the same world in which one thing less happens.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from random import Random

from headrace.testing.random_streams import RandomStreams


class Kind(Enum):
    """What may happen, and how often beside the others."""

    KILL = ("a broker is killed", 6)
    POWER_CUT = ("a broker loses power", 5)
    BLACKOUT = ("several brokers lose power at once", 2)
    CRASH_SOON = ("a broker dies in the middle of a write", 4)
    RESTART = ("a broker is restarted in order", 4)
    LEAVE = ("a broker is shut down for long", 2)
    REPLACE = ("a broker comes back with an empty disk", 1)
    PAUSE = ("a broker is stopped for a while", 5)
    ISOLATE = ("a broker is cut off from the others", 4)
    CUT_ONE_WAY = ("a broker does not hear another", 4)
    LOSE_ZOOKEEPER = ("a broker does not reach ZooKeeper", 5)
    EXPIRE_SESSION = ("a session expires although its broker is well", 3)
    RESET_ZOOKEEPER = ("a connection to ZooKeeper breaks", 4)
    CUT_CLIENT = ("clients do not reach a broker", 2)
    SET_CLOCK = ("a clock is set", 2)
    FILL_DISK = ("a disk is full", 2)
    REASSIGN = ("partitions are to move", 5)
    CANCEL = ("moves are called off", 1)
    ELECT_PREFERRED = ("the preferred leaders shall lead", 3)
    ELECT_UNCLEAN = ("any replica shall lead", 2)
    CHANGE_TOPICS = ("a topic comes, grows or goes", 3)
    VANISH = ("a client vanishes", 3)

    def __init__(self, words: str, weight: int) -> None:
        self.words = words
        self.weight = weight


LOSES_POWER = frozenset({Kind.POWER_CUT, Kind.BLACKOUT, Kind.CRASH_SOON})


@dataclass(frozen=True, slots=True)
class Upheaval:
    """One thing that happens."""

    number: int
    at_ms: int
    kind: Kind
    rng: Random


def plan(
    chance: RandomStreams, first_ms: int, last_ms: int, pause_ms: int, kinds: Collection[Kind]
) -> list[Upheaval]:
    """What happens between two moments, about every `pause_ms`."""
    rng = chance.of("upheavals")
    wanted = [kind for kind in Kind if kind in kinds]
    weights = [kind.weight for kind in wanted]
    found: list[Upheaval] = []
    at_ms = first_ms + rng.randrange(pause_ms)
    while at_ms < last_ms:
        number = len(found) + 1
        kind = rng.choices(wanted, weights=weights)[0]
        found.append(Upheaval(number, at_ms, kind, chance.of("upheaval", number)))
        at_ms += rng.randrange(pause_ms // 4, 2 * pause_ms)
    return found
