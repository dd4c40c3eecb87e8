"""Moves of replicas between the disks of their broker: start them, and tell how they stand."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.records import log_dirs
from headrace.admin.views import by_topic
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.replica_plans import Replica
from headrace.client.faults import error_named
from headrace.errors import Error
from headrace.types import TopicPartition

_PAUSE_S: Final = 0.1
_NOT_YET: Final = frozenset({Error.REPLICA_NOT_AVAILABLE})


class MoveState(NamedTuple):
    """Where a replica is, and where it goes; None where there is no such thing."""

    target: str
    current: str | None
    future: str | None


def is_moving(state: MoveState) -> bool:
    return state.future is not None


def move_states(admin: Admin, wanted: Mapping[Replica, str]) -> dict[Replica, MoveState]:
    """What the brokers say of these replicas."""
    states = {replica: MoveState(folder, None, None) for replica, folder in wanted.items()}
    for broker, replicas in _by_broker(wanted).items():
        places = [TopicPartition(*each[:2]) for each in replicas]
        for folder in log_dirs(admin, broker, places):
            for each in folder.replicas:
                replica = Replica(*each.place, broker)
                if replica in states:
                    here = "future" if each.is_future else "current"
                    states[replica] = states[replica]._replace(**{here: folder.path})
    return states


def folders_of(
    admin: Admin, assignment: Mapping[TopicPartition, Sequence[int]]
) -> dict[Replica, str]:
    """On which disk each replica is, as far as its broker lives to tell."""
    live = admin.describe_cluster().ids
    wanted = {
        Replica(*where, broker): ""
        for where, replicas in assignment.items()
        for broker in replicas
        if broker in live
    }
    states = move_states(admin, wanted)
    return {replica: state.current for replica, state in states.items() if state.current}


def describe_moves(states: Mapping[Replica, MoveState]) -> list[str]:
    """A line for each replica."""
    lines = []
    for replica in sorted(states, key=lambda each: (each.broker, each.topic, each.partition)):
        target, current, future = states[replica]
        where = f"Partition {replica.topic}-{replica.partition}"
        if current is None:
            lines.append(
                f"{where} is not found in any live log dir on broker {replica.broker}. There is "
                "likely an offline log directory on the broker."
            )
        elif future is None and current == target:
            lines.append(f"Reassignment of replica {replica} completed successfully.")
        elif future is None:
            lines.append(
                f"{where} on broker {replica.broker} is not being moved from log dir {current} to "
                f"{target}."
            )
        elif future == target:
            lines.append(f"Reassignment of replica {replica} is still in progress.")
        else:
            lines.append(
                f"{where} on broker {replica.broker} is being moved to log dir {future} instead "
                f"of {target}."
            )
    return lines


def start_moves(admin: Admin, wanted: Mapping[Replica, str], timeout_ms: int) -> None:
    """Ask until every broker has begun: one that is only getting the replica refuses at first."""
    deadline = time.monotonic() + timeout_ms / 1000
    pending = dict(wanted)
    while True:
        for replica in sorted(_begun(admin, pending)):
            print(
                f"Successfully started moving log directory to {pending.pop(replica)} for replica "
                f"{replica.topic}-{replica.partition} with broker {replica.broker} "
            )
        if not pending:
            return
        if time.monotonic() >= deadline:
            plural = "" if len(pending) == 1 else "s"
            listed = ",".join(map(str, sorted(pending)))
            raise Told(
                f"Timed out before log directory move{plural} could be started for: {listed}"
            )
        time.sleep(_PAUSE_S)


def _begun(admin: Admin, wanted: Mapping[Replica, str]) -> list[Replica]:
    from headrace.wire.messages.alter_replica_log_dirs import (
        AlterReplicaLogDir,
        AlterReplicaLogDirsRequest,
        AlterReplicaLogDirTopic,
    )

    begun = []
    for broker, replicas in _by_broker(wanted).items():
        folders: dict[str, list[TopicPartition]] = {}
        for replica in replicas:
            folders.setdefault(wanted[replica], []).append(TopicPartition(*replica[:2]))
        request = AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=folder,
                    topics=[
                        AlterReplicaLogDirTopic(name=name, partitions=numbers)
                        for name, numbers in by_topic(partitions).items()
                    ],
                )
                for folder, partitions in folders.items()
            ]
        )
        for topic in admin.ask_broker(broker, request).results:
            for each in topic.partitions:
                replica = Replica(topic.topic_name, each.partition_index, broker)
                error = error_named(each.error_code)
                if error is Error.NONE:
                    begun.append(replica)
                elif error not in _NOT_YET:
                    raise Told(f"Failed to alter dir for {replica}: {error.name}")
    return begun


def _by_broker(wanted: Mapping[Replica, str]) -> dict[int, list[Replica]]:
    found: dict[int, list[Replica]] = {}
    for replica in wanted:
        found.setdefault(replica.broker, []).append(replica)
    return found
