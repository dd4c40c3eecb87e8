"""A run of a job: units, tasks, publication, state, metrics."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from headrace.pipelines.lake.gobblin import plugins
from headrace.pipelines.lake.gobblin.publishing import Publisher, move_all
from headrace.pipelines.lake.gobblin.settings import JobSettings
from headrace.pipelines.lake.gobblin.stages import Counts, Outcome
from headrace.pipelines.lake.gobblin.state import Kept, StateStore
from headrace.pipelines.lake.gobblin.task import run_unit, source_of
from headrace.pipelines.lake.jobs.locking import held
from headrace.pipelines.lake.jobs.running import Runner, shares_of
from headrace.runtime.clock import Clock

_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did."""

    job_id: str
    outcomes: tuple[Outcome, ...]
    published: int
    """How many files are new in the final folder."""

    @property
    def failed(self) -> list[Outcome]:
        """The work units that failed."""
        return [each for each in self.outcomes if each.fault is not None]


def run_job(
    settings: JobSettings,
    runner: Runner,
    clock: Clock,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> Report:
    """Run once; `tell` hears of each work unit as it ends."""
    lock = held(settings.lock, settings.name) if settings.locks else nullcontext()
    with lock:
        store = StateStore(settings.state)
        unfinished = store.unfinished()
        if unfinished is not None:
            move_all(unfinished.moves)
            store.finish(unfinished)
        job_id = f"job_{settings.name}_{clock.now_ms()}"
        report = _run(settings, job_id, store, runner, tell)
        _clean(settings, job_id, clock.now_ms())
        if settings.metrics is not None and report.outcomes:
            _write_metrics(settings, report)
        return report


def _run(
    settings: JobSettings,
    job_id: str,
    store: StateStore,
    runner: Runner,
    tell: Callable[[Outcome], None],
) -> Report:
    state = store.current()
    units = source_of(settings).work_units(state)
    todo = [unit for unit in units if unit.end > unit.start]
    outcomes = []
    shares = shares_of(todo, settings.mappers, lambda unit: unit.end - unit.start)
    for outcome in runner(partial(run_unit, settings, job_id), shares):
        tell(outcome)
        outcomes.append(outcome)
    outcomes.sort(key=lambda each: each.unit.name)
    good = [each for each in outcomes if each.fault is None]
    if settings.commit == "full" and len(good) < len(outcomes):
        return Report(job_id, tuple(outcomes), 0)
    source = source_of(settings)
    known = {name: dict(kept) for name, kept in state.items()}
    for unit in units:
        if unit.end <= unit.start:
            known[unit.name] = dict(source.extractor(unit).watermark())
    known |= {each.unit.name: each.watermark for each in good}
    publisher: Publisher = plugins.named(
        plugins.PUBLISHERS, settings.publisher, "data.publisher.type"
    )(settings)
    moves = [move for each in good for move in publisher.moves(each)]
    if moves or known != state:
        kept = Kept(job_id, known, moves)
        store.begin(kept)
        move_all(moves)
        store.finish(kept)
    return Report(job_id, tuple(outcomes), len(moves))


def _clean(settings: JobSettings, job_id: str, now_ms: int) -> None:
    """Delete the folder of this run, and those that runs which were killed have left."""
    files = settings.work.open()
    for name in list(files.files(settings.work.path)):
        owner = name.partition("/")[0]
        began = owner.rpartition("_")[2]
        is_old = began.isdecimal() and now_ms - int(began) > _DAY_MS
        if owner == job_id or (owner.startswith("job_") and (settings.locks or is_old)):
            files.delete(settings.work.below(name).path)


def _write_metrics(settings: JobSettings, report: Report) -> None:
    assert settings.metrics is not None
    total = Counts()
    for outcome in report.outcomes:
        for name in Counts.__struct_fields__:
            setattr(total, name, getattr(total, name) + getattr(outcome.counts, name))
    document = {
        "job": settings.name,
        "group": settings.group,
        "id": report.job_id,
        "units": len(report.outcomes),
        "failed": len(report.failed),
        "published": report.published,
        "records": total,
    }
    place = settings.metrics.below(f"{report.job_id}.{settings.metrics_suffix}")
    place.open().replace(place.path, msgspec.json.encode(document) + b"\n")
