"""The leader's answer to a group of workers: from what all said when they joined to assignments.

It is pure, as the assignor is. What the leader remembers between rounds goes in and comes out; the
caller keeps it, and forgets it when another worker leads.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle

from headrace.pipelines.connect.group.protocol import (
    CONFIG_MISMATCH,
    EAGER,
    Assignment,
    TaskId,
    Work,
    WorkerState,
)
from headrace.pipelines.connect.herder.assignor import Memory, assign
from headrace.pipelines.connect.state.config_log import Snapshot


def lead(
    memory: Memory,
    snapshot: Snapshot,
    states: Mapping[str, WorkerState],
    leader: str,
    *,
    version: int,
    last_generation: int,
    generation: int,
    now_ms: int,
    max_delay_ms: int,
) -> tuple[Memory, dict[str, Assignment]]:
    """Assign among the members of a group, whose ids and words are `states`.

    `version` is the protocol that all of them speak. A leader that has read less of the config
    topic than another member cannot assign: it says so, and all join again once it has read on.
    """
    url = states[leader].url
    offset = max(state.config_offset for state in states.values())
    if snapshot.offset < offset:
        wrong = Assignment(leader, url, offset, error=CONFIG_MISMATCH, version=version)
        return memory, dict.fromkeys(states, wrong)
    configured = configured_work(snapshot)
    if version == EAGER:
        shares = eager(configured, sorted(states))
        return memory, {
            name: Assignment(leader, url, offset, share, version=EAGER)
            for name, share in shares.items()
        }
    memory, made = assign(
        memory,
        configured,
        {name: _held(state) for name, state in states.items()},
        last_generation=last_generation,
        generation=generation,
        now_ms=now_ms,
        max_delay_ms=max_delay_ms,
    )
    return memory, {
        name: Assignment(
            leader,
            url,
            offset,
            made.given[name],
            made.revoked.get(name, Work()),
            made.delay_ms,
            version=version,
        )
        for name in states
    }


def configured_work(snapshot: Snapshot) -> Work:
    """Every connector of the cluster, and every task."""
    names = tuple(sorted(snapshot.connectors))
    return Work(names, tuple(task for name in names for task in snapshot.tasks(name)))


def eager(configured: Work, members: list[str]) -> dict[str, Work]:
    """All work dealt anew: connectors in turn, then tasks in turn from where those ended."""
    turns = cycle(members)
    connectors: dict[str, list[str]] = {name: [] for name in members}
    tasks: dict[str, list[TaskId]] = {name: [] for name in members}
    for connector in configured.connectors:
        connectors[next(turns)].append(connector)
    for task in configured.tasks:
        tasks[next(turns)].append(task)
    return {name: Work(tuple(connectors[name]), tuple(tasks[name])) for name in members}


def held_after(state: Work, assignment: Assignment) -> Work:
    """What a worker runs once it has done as it was told."""
    if assignment.version == EAGER:
        return assignment.given
    revoked = assignment.revoked
    return Work(
        tuple(name for name in state.connectors if name not in revoked.connectors)
        + assignment.given.connectors,
        tuple(task for task in state.tasks if task not in revoked.tasks) + assignment.given.tasks,
    )


def _held(state: WorkerState) -> Work:
    return Work() if state.assignment is None else state.assignment.given
