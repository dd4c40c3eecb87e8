"""The tasks of a connector: their settings, and the fencing of those that came before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.herder.decisions import known
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import Settings, TargetState, Write

_ENFORCED: Final = "tasks.max.enforce"


class TooManyTasksException(ConnectException):
    """A connector divides its work further than it may."""

    java_class = "org.apache.kafka.connect.runtime.TooManyTasksException"


def configure_tasks(snapshot: Snapshot, name: str, tasks: Sequence[Settings]) -> list[Write]:
    """The tasks into which a connector divides its work; nothing if they are what they were.

    They are written as well when the connector's own settings changed since: its tasks have
    converters, transforms and clients from there.
    """
    settings = known(snapshot, name)
    if snapshot.target_states.get(name) is TargetState.STOPPED:
        return []
    most = int(settings.get("tasks.max", "1"))
    if len(tasks) > most and settings.get(_ENFORCED, "true").strip().lower() != "false":
        raise TooManyTasksException(
            f"The connector {name} has generated {len(tasks)} tasks, which is greater than {most}, "
            "the maximum number of tasks it is configured to create. This behaviour should be "
            "considered a bug and is disallowed. If necessary, it can be permitted by "
            f"reconfiguring the connector with '{_ENFORCED}' set to false; however, this option "
            "will be removed in a future release of Kafka Connect."
        )
    before = [snapshot.task_settings.get(task) for task in snapshot.tasks(name)]
    same = name in snapshot.task_counts and before == [dict(each) for each in tasks]
    if same and name not in snapshot.inconsistent and snapshot.applied.get(name) == settings:
        return []
    return records.task_configs(name, tasks)


@dataclass(frozen=True, slots=True)
class Fencing:
    """Before tasks of a source start that write in transactions: how many old ones to fence, by
    their transactional ids, and what to write then."""

    tasks: int
    writes: list[Write]


def fence(snapshot: Snapshot, name: str) -> Fencing:
    """Whether tasks of earlier settings may still write, and must be fenced."""
    known(snapshot, name)
    if name not in snapshot.pending_fencing:
        return Fencing(0, [])
    count, before = snapshot.task_counts.get(name, 0), snapshot.fenced_counts.get(name)
    # A single task has the same transactional id as the one before: it fences that by itself.
    needless = before is None or before == count == 1
    return Fencing(0 if needless else before or 0, [records.task_count(name, count)])
