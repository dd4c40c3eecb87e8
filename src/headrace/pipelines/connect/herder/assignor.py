"""Who runs what: the leader's decision in a rebalance, incremental and cooperative (KIP-415).

Each worker keeps what it has. New work goes to the workers with the least; work is taken from the
others only to balance the load, and given out in the round after that, when it has stopped. Work of
a worker that is gone waits for it: until `max_delay_ms` is over it is nobody's, and every answer
says when to join again. Rounds that take work one after another are spread out in time as well.

`assign` is a pure function of what the leader remembers and what the members say. Connectors and
tasks are balanced separately; a piece of work is a connector's name or a `TaskId`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from headrace.pipelines.connect.group.protocol import TaskId, Work

Piece: TypeAlias = str | TaskId
_Loads: TypeAlias = dict[str, list[Piece]]
_Taken: TypeAlias = dict[str, set[Piece]]

_BACKOFF_BASE: Final = 40
_KINDS: Final = (str, TaskId)


@dataclass(frozen=True, slots=True)
class Memory:
    """What a leader remembers of its last round; a new leader remembers nothing.

    `assigned` is what it believes to be running or awaited, `revoked` what it took and did not give
    yet. `candidates` joined without work while some was lost: they get it first.
    """

    assigned: frozenset[Piece] = frozenset()
    revoked: frozenset[Piece] = frozenset()
    revoked_before: bool = False
    revoking_rounds: int = 0
    candidates: tuple[str, ...] = ()
    scheduled_ms: int = 0
    delay_ms: int = 0
    generation: int = -1
    members: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Round:
    """What each member gets and gives up, and in how many milliseconds all shall join again."""

    given: Mapping[str, Work]
    revoked: Mapping[str, Work]
    delay_ms: int


def assign(
    memory: Memory,
    configured: Work,
    members: Mapping[str, Work],
    *,
    last_generation: int,
    generation: int,
    now_ms: int,
    max_delay_ms: int,
) -> tuple[Memory, Round]:
    """Assign in `generation`.

    `members` says what each member runs, `last_generation` which round was the last that this
    worker completed: what it remembers of any other is worth nothing.
    """
    wanted: frozenset[Piece] = frozenset((*configured.connectors, *configured.tasks))
    held: _Loads = {name: [*work.connectors, *work.tasks] for name, work in members.items()}
    active = frozenset(piece for pieces in held.values() for piece in pieces)
    assigned = memory.assigned if memory.generation == last_generation else frozenset()
    if memory.revoked & active:
        assigned = active  # what was taken in the last round is still running: take it again
    deleted = assigned - wanted
    lost = assigned - active - deleted
    created = wanted - assigned - active
    taken: _Taken = {}
    _take(taken, {name: deleted.intersection(pieces) for name, pieces in held.items()})
    twice = {piece for piece, workers in _owners(held).items() if workers > 1}
    _take(taken, {name: twice.intersection(pieces) for name, pieces in held.items()})
    loads = {
        name: [piece for piece in pieces if piece not in taken.get(name, ())]
        for name, pieces in held.items()
    }
    memory, again = _lost(memory, lost, loads, now_ms, max_delay_ms)
    memory = _balance(memory, wanted, loads, taken, now_ms, max_delay_ms)
    for kind in _KINDS:
        _give(loads, kind, [*_ordered(created, kind), *_ordered(again, kind)])
    given = {name: _work(set(loads[name]) - set(held[name])) for name in held}
    running = frozenset(piece for pieces in loads.values() for piece in pieces)
    revoked = frozenset(piece for pieces in taken.values() for piece in pieces)
    kept = replace(
        memory,
        assigned=(running - revoked) | lost,
        revoked=revoked,
        generation=generation,
        members=frozenset(held),
    )
    revocations = {name: _work(pieces) for name, pieces in taken.items() if pieces}
    return kept, Round(given, revocations, kept.delay_ms)


def _lost(
    memory: Memory, lost: frozenset[Piece], loads: _Loads, now_ms: int, max_delay_ms: int
) -> tuple[Memory, frozenset[Piece]]:
    """What to do about work that nobody runs any more: wait for its worker, or give it out."""
    at_once = frozenset[Piece]()
    if not lost and not memory.revoked_before:
        return _without_delay(memory), at_once
    nobody_left = memory.scheduled_ms <= 0 and memory.members <= loads.keys()
    if nobody_left or max_delay_ms == 0:
        return memory, lost
    if 0 < memory.scheduled_ms <= now_ms:
        present = [name for name in memory.candidates if name in loads]
        for kind in _KINDS:
            for place, piece in enumerate(_ordered(lost, kind) if present else ()):
                loads[present[place % len(present)]].append(piece)
        over = replace(_without_delay(memory), revoked_before=False)
        return over, at_once if present else lost
    idle = sorted(name for name, pieces in loads.items() if not pieces)
    waiting = now_ms < memory.scheduled_ms
    delay = min(memory.scheduled_ms - now_ms, max_delay_ms) if waiting else max_delay_ms
    candidates = tuple(dict.fromkeys((*memory.candidates, *idle)))
    delayed = replace(memory, candidates=candidates, delay_ms=delay, scheduled_ms=now_ms + delay)
    return delayed, at_once


def _without_delay(memory: Memory) -> Memory:
    return replace(memory, candidates=(), scheduled_ms=0, delay_ms=0)


def _balance(
    memory: Memory,
    wanted: frozenset[Piece],
    loads: _Loads,
    taken: _Taken,
    now_ms: int,
    max_delay_ms: int,
) -> Memory:
    """Take work from those that have more than their share, unless it is too early for that."""
    if memory.delay_ms:
        return replace(memory, revoked_before=False)
    surplus: _Taken = {}
    if any(loads.values()) and wanted:
        for kind in _KINDS:
            _take(surplus, _surplus(loads, kind, sum(isinstance(piece, kind) for piece in wanted)))
    if not any(surplus.values()):
        rounds = 0 if memory.revoked_before else memory.revoking_rounds
        return replace(memory, revoked_before=False, revoking_rounds=rounds)
    if memory.revoked_before:
        rounds = memory.revoking_rounds + 1
        delay = backoff_ms(rounds, max_delay_ms)
        memory = replace(memory, revoking_rounds=rounds, delay_ms=delay)
        if delay:
            return replace(memory, scheduled_ms=now_ms + delay)
    _take(taken, surplus)
    for name, pieces in surplus.items():
        loads[name] = [piece for piece in loads[name] if piece not in pieces]
    return replace(memory, revoked_before=True)


def backoff_ms(rounds: int, max_delay_ms: int) -> int:
    """How long to wait after so many rounds that took work, one after another."""
    if max_delay_ms <= 1:
        return max_delay_ms
    # As Kafka computes it, with real numbers: the longest delay may come out one too short.
    longest = math.log(max_delay_ms) / math.log(_BACKOFF_BASE)
    return min(int(math.pow(_BACKOFF_BASE, min(rounds, longest))), max_delay_ms)


def _surplus(loads: _Loads, kind: type, total: int) -> _Taken:
    """What each worker has of a kind beyond its share of `total`; the first ones may have one more.

    Nobody gives up anything while the shares are as even as they can be.
    """
    least, extra = divmod(total, len(loads))
    own = {
        name: [each for each in pieces if isinstance(each, kind)] for name, pieces in loads.items()
    }
    sizes = Counter(len(pieces) for pieces in own.values())
    if sizes[least + 1] == extra and sizes[least] + sizes[least + 1] == len(loads):
        return {}
    found: _Taken = {}
    for name, pieces in own.items():
        if len(pieces) <= least:
            continue
        share = least
        if extra:
            extra -= 1
            share += 1
        found[name] = set(pieces[: len(pieces) - share])
    return found


def _give(loads: _Loads, kind: type, pieces: Iterable[Piece]) -> None:
    """Give each piece to the worker that has the fewest of its kind."""
    sizes = {name: sum(isinstance(each, kind) for each in held) for name, held in loads.items()}
    order = sorted(sizes, key=lambda name: (sizes[name], name))
    for piece in pieces:
        name = min(order, key=sizes.__getitem__)
        loads[name].append(piece)
        sizes[name] += 1


def _take(taken: _Taken, more: Mapping[str, Iterable[Piece]]) -> None:
    for name, pieces in more.items():
        taken.setdefault(name, set()).update(pieces)


def _owners(held: _Loads) -> Counter[Piece]:
    return Counter(piece for pieces in held.values() for piece in pieces)


def _ordered(pieces: Iterable[Piece], kind: type) -> list[Piece]:
    return sorted((piece for piece in pieces if isinstance(piece, kind)), key=_rank)


def _rank(piece: Piece) -> tuple[str, int]:
    return (piece, -1) if isinstance(piece, str) else (piece.connector, piece.task)


def _work(pieces: Iterable[Piece]) -> Work:
    known = tuple(pieces)
    return Work(
        tuple(sorted(piece for piece in known if isinstance(piece, str))),
        tuple(sorted(piece for piece in known if isinstance(piece, TaskId))),
    )
