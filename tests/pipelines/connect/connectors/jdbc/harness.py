"""Tasks driven without a host: each call by the test, the context's answers recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from headrace.pipelines.connect.connectors.jdbc.sink import JdbcSink
from headrace.pipelines.connect.connectors.jdbc.source import JdbcSource
from headrace.pipelines.connect.model.batch import Batch, Position
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.tasks import Partition, Task, connector_of


class Context:
    """A host that never stops its task, and does not rest."""

    def __init__(self, connector: str = "jdbc", task: int = 0) -> None:
        self.connector = connector
        self.task = task
        self.rests: list[float] = []
        self.reconfigured = 0

    def wait(self, seconds: float) -> bool:
        self.rests.append(seconds)
        return False

    def reconfigure(self) -> None:
        self.reconfigured += 1

    def seek(self, offsets: Mapping[Partition, int]) -> None:
        raise AssertionError("no task of this connector seeks")


class Kept:
    """Offsets by partition, as a worker keeps them."""

    def __init__(self) -> None:
        self.by_partition: dict[frozenset[tuple[str, object]], Mapping[str, object]] = {}

    def __call__(self, partition: Position) -> Mapping[str, object] | None:
        return self.by_partition.get(frozenset(partition.items()))

    def keep(self, batch: Batch) -> None:
        for mark in batch.marks:
            self.by_partition[frozenset(mark.partition.items())] = mark.offset


class Source:
    """A source task, its offsets kept as if everything that it yields were acknowledged."""

    def __init__(
        self,
        settings: Mapping[str, str],
        kept: Kept | None = None,
        *,
        most: int = 1,
        task: int = 0,
    ) -> None:
        given = {"topic.prefix": "", "poll.interval.ms": "0", **settings}
        kind = connector_of(JdbcSource).settings
        self.configs = JdbcSource.task_configs(kind.of(given), most)
        self.kept = kept or Kept()
        self.context = Context(task=task)
        self.task = JdbcSource()
        self.task.context = self.context
        try:
            self.task.open(kind.of({**given, **self.configs[task]}), self.kept)
        except BaseException:
            self.task.close()
            raise

    def poll(self) -> list[Batch]:
        found = list(self.task.poll())
        for batch in found:
            self.kept.keep(batch)
        return found

    def read(self) -> list[Batch]:
        """Batches up to the first poll that finds nothing."""
        found: list[Batch] = []
        while more := self.poll():
            found += more
        return found


@contextmanager
def source(
    settings: Mapping[str, str], kept: Kept | None = None, *, most: int = 1, task: int = 0
) -> Iterator[Source]:
    """A source task that is closed at the end."""
    made = Source(settings, kept, most=most, task=task)
    try:
        yield made
    finally:
        made.task.close()


def values(batches: Iterable[Batch]) -> list[dict[str, object]]:
    """The structs of the rows as dicts."""
    rows = [record for batch in batches for record in batch.records()]
    return [dict(zip(_names(row), row.value.values, strict=True)) for row in rows]  # type: ignore[attr-defined]


def _names(row: Record) -> list[str]:
    assert row.value_schema is not None
    return [field.name for field in row.value_schema.fields]


@contextmanager
def sink(settings: Mapping[str, str], context: Context | None = None) -> Iterator[JdbcSink]:
    """A sink task that is closed at the end."""
    task = JdbcSink()
    task.context = context or Context()
    try:
        task.open(connector_of(JdbcSink).settings.of(settings))
        yield task
    finally:
        task.close()


def task_of(task: Task) -> Context:
    """The context that a task of this harness has."""
    assert isinstance(task.context, Context)
    return task.context
