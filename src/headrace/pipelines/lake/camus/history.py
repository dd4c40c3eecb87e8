"""The folders of runs: what each was to copy, how far it came, what it counted and skipped.

    <etl.execution.base.path>/<run>.json                a run that is under way, or was killed
    <etl.execution.history.path>/<run>/requests.json    a run that has ended
                                       offsets.json     where the next one goes on
                                       counts.json      messages by topic and partition
                                       errors.json      what was skipped, what failed

The newest run of the history says where the next one begins.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from headrace.errors import CorruptData
from headrace.pipelines.lake.camus.units import Outcome
from headrace.pipelines.lake.jobs.locations import Location
from headrace.pipelines.source.offsets import offsets_to_json, position_from_json
from headrace.pipelines.source.split import OffsetRange
from headrace.types import TopicPartition

Offsets = Mapping[TopicPartition, int]
_REQUESTS: Final = "requests.json"
_OFFSETS: Final = "offsets.json"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the job."""

    name: str
    base: Location
    history: Location

    def begin(self, units: Sequence[OffsetRange]) -> None:
        """Write down what is to be copied."""
        _write(self.base.below(f"{self.name}.json"), _requests(units))

    def end(
        self, units: Sequence[OffsetRange], outcomes: Sequence[Outcome], offsets: Offsets
    ) -> None:
        """Write down what was copied; the offsets last, for they make the run count."""
        folder = self.history.below(self.name)
        _write(folder.below(_REQUESTS), _requests(units))
        _write(folder.below("counts.json"), [_counts(each) for each in outcomes])
        errors = [error for each in outcomes for error in each.errors]
        failed = [
            {"topic": each.unit.topic, "partition": each.unit.partition, "reason": each.fault}
            for each in outcomes
            if each.fault is not None
        ]
        _write(folder.below("errors.json"), {"skipped": errors, "failed": failed})
        _write(folder.below(_OFFSETS), offsets_to_json(offsets))
        begun = self.base.below(f"{self.name}.json")
        begun.open().delete(begun.path)


def new_run(base: Location, history: Location, now_ms: int) -> Run:
    """A run, named by the time of its beginning."""
    now = datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC)
    return Run(f"{now:%Y-%m-%d-%H-%M-%S}-{now_ms % 1000:03d}", base, history)


def last_offsets(history: Location) -> Offsets:
    """Where the newest run that has ended left off; nothing if there was none."""
    files = history.open()
    runs = sorted(path for path in files.files(history.path) if path.rpartition("/")[2] == _OFFSETS)
    if not runs:
        return {}
    newest = history.below(runs[-1]).path
    try:
        return position_from_json(msgspec.json.decode(files.read(newest))).offsets
    except (msgspec.DecodeError, CorruptData, AttributeError) as fault:
        raise CorruptData(
            f"{files.url(newest)} does not hold offsets ({fault}): remove its folder, and the job "
            "goes on where the run before it left off"
        ) from fault


def _requests(units: Sequence[OffsetRange]) -> object:
    return [
        {"topic": unit.topic, "partition": unit.partition, "from": unit.start, "end": unit.end}
        for unit in units
    ]


def _counts(outcome: Outcome) -> object:
    unit = outcome.unit
    return {
        "topic": unit.topic,
        "partition": unit.partition,
        "messages": outcome.messages,
        "skipped": outcome.skipped,
        "next": outcome.next_offset,
    }


def _write(location: Location, document: object) -> None:
    location.open().replace(location.path, msgspec.json.format(msgspec.json.encode(document)))
