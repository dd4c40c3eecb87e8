"""Units of work in parallel: as tasks of a Spark job, or in threads of this process.

Either way a unit runs by the same function, which must be picklable, catch its own faults, and
return what became of the unit. A Python worker of Spark that dies takes its units with it.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")
_OUTCOME: Final = pa.schema([pa.field("outcome", pa.binary())])


class Runner(Protocol):
    """Runs every unit of every share; the units of a share one after the other."""

    def __call__(self, work: Callable[[T], R], shares: Sequence[Sequence[T]]) -> Iterator[R]: ...


def shares_of(units: Sequence[T], tasks: int, size: Callable[[T], int]) -> list[list[T]]:
    """The units dealt to at most `tasks` shares of about the same size."""
    shares: list[list[T]] = [[] for _ in range(min(tasks, len(units)))]
    loads = [0] * len(shares)
    for unit in sorted(units, key=size, reverse=True):
        least = loads.index(min(loads))
        shares[least].append(unit)
        loads[least] += size(unit)
    return shares


def in_threads(work: Callable[[T], R], shares: Sequence[Sequence[T]]) -> Iterator[R]:
    """A thread for each share; outcomes come as they are there."""
    if not shares:
        return
    with ThreadPoolExecutor(len(shares), thread_name_prefix="unit") as threads:
        for done in as_completed([threads.submit(_run, work, share) for share in shares]):
            yield from done.result()


def on_spark(spark: SparkSession) -> Runner:
    """A Spark task for each share."""

    def run(work: Callable[[T], R], shares: Sequence[Sequence[T]]) -> Iterator[R]:
        if not shares:
            return

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    outcomes = [pickle.dumps(outcome) for outcome in _run(work, shares[number])]
                    yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.binary())], _OUTCOME)

        numbers = spark.range(0, len(shares), 1, len(shares))
        for row in numbers.mapInArrow(task, "outcome binary").collect():
            outcome: R = pickle.loads(row.outcome)
            yield outcome

    return run


def _run(work: Callable[[T], R], share: Sequence[T]) -> list[R]:
    return [work(unit) for unit in share]
