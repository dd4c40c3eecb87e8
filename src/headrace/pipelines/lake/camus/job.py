"""A run of the job: find out what is new, copy it, write down how far the copy is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from headrace.client.cluster import Cluster
from headrace.pipelines.lake.camus.copying import copy
from headrace.pipelines.lake.camus.history import last_offsets, new_run
from headrace.pipelines.lake.camus.settings import CamusSettings
from headrace.pipelines.lake.camus.units import Outcome, plan
from headrace.pipelines.lake.jobs.locking import held
from headrace.pipelines.lake.jobs.running import Runner, shares_of
from headrace.runtime.clock import Clock
from headrace.types import TopicPartition

_LOCK: Final = ".lock"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did. It has no name if there was nothing to do."""

    run: str
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> list[Outcome]:
        """The units that were not copied."""
        return [each for each in self.outcomes if each.fault is not None]


def run_job(
    settings: CamusSettings,
    runner: Runner,
    clock: Clock,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> Report:
    """Copy what is new; `tell` hears of each unit as it ends."""
    with held(settings.base.below(_LOCK), settings.name):
        known = dict(last_offsets(settings.history))
        cluster = Cluster(settings.client)
        try:
            units, failed = plan(cluster, settings, known)
        finally:
            cluster.close()
        todo = [unit for unit in units if unit.size > 0]
        for outcome in failed:
            tell(outcome)
        if not todo and not failed:
            return Report("", ())
        run = new_run(settings.base, settings.history, clock.now_ms())
        run.begin(todo)
        outcomes = list(failed)
        shares = shares_of(todo, settings.tasks, lambda unit: unit.size)
        for outcome in runner(partial(copy, settings), shares):
            tell(outcome)
            outcomes.append(outcome)
        outcomes.sort(key=lambda each: each.unit[:2])
        known |= {TopicPartition(*each.unit[:2]): each.next_offset for each in outcomes}
        run.end(todo, outcomes, known)
        return Report(run.name, tuple(outcomes))
