"""What a connector is: a class for its tasks, a name, a version, settings, and how work is divided.

A task lives in one thread of a host. The host calls `open` once, then `poll` or `put` until it
calls `close`, and never from two threads at a time. Records that a task yields have left when their
brokers have acknowledged them; records that it was given are done when `flush` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, Protocol, TypeAlias, TypeVar

from headrace.pipelines.connect.config.definition import Found
from headrace.pipelines.connect.config.settings import Config
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model.batch import Batch, Position

Partition: TypeAlias = tuple[str, int]
Offsets: TypeAlias = Callable[[Position], Mapping[str, object] | None]
"""Where a partition of the source stood when it was last committed; None if it never was."""


class TaskContext(Protocol):
    """What a task may ask of its host."""

    connector: str
    task: int

    def wait(self, seconds: float) -> bool:
        """Wait, but no longer than until the task must stop; true if it must."""

    def reconfigure(self) -> None:
        """Ask for new task settings, because the connector has other work now."""

    def seek(self, offsets: Mapping[Partition, int]) -> None:
        """Sinks: read these partitions on from these offsets."""


class TransactionContext(Protocol):
    """Where transactions end, if a source with `transaction.boundary=connector` says so itself."""

    def commit(self) -> None:
        """The batch that is yielded next is the last of its transaction; after a poll's last
        batch, that batch is."""

    def abort(self) -> None:
        """As `commit`, but nobody reads the transaction's records; offsets are kept all the same,
        so that they are not polled again."""


class RowsRefused(ConnectException):
    """Rows of a batch that the target does not take, by their number in it; the others are done."""

    def __init__(self, rows: Mapping[int, str]) -> None:
        super().__init__(f"{len(rows)} rows refused, the first: {next(iter(rows.values()), '')}")
        self.rows = rows


class Task:
    """What sources and sinks have in common."""

    context: TaskContext
    takes_bytes: ClassVar[bool] = False
    """Keys, values and headers are bytes to the task: it has converters and transforms of its own,
    and is given their settings, the worker's among them."""

    @classmethod
    def validate(cls, given: Mapping[str, str], found: list[Found]) -> list[Found]:
        """What is to be said of each setting, beside what the definition of the settings says."""
        return found

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """What each task has set beside the connector's settings, for at most `most` tasks."""
        return [{}]

    def close(self) -> None:
        """Let go of everything; called once, also after a fault."""


class SourceTask(Task):
    """Reads a system and yields batches."""

    transaction: TransactionContext | None = None
    """Set before `open` if the task may say where transactions end."""

    def open(self, settings: Config, offsets: Offsets) -> None:
        """Begin where `offsets` says that each partition of the source stood."""

    def poll(self) -> Iterable[Batch]:
        """What is new; nothing if nothing is. May block for as long as `context.wait` lets it."""
        raise NotImplementedError

    def commit(self, partition: Position, offset: Position) -> None:
        """Records up to here are acknowledged, and the position is kept."""


class SinkTask(Task):
    """Writes batches to a system."""

    @classmethod
    def task_configs(cls, settings: Config, most: int) -> list[Mapping[str, str]]:
        """As many tasks as there may be: the group deals partitions to them."""
        return [{}] * most

    def open(self, settings: Config) -> None:
        """Begin; partitions follow with `assigned`."""

    def assigned(self, partitions: Iterable[Partition]) -> Mapping[Partition, int]:
        """Partitions that are this task's now. What is returned is read from there instead of from
        the offset that the group committed: a target that keeps its own positions returns them."""
        return {}

    def revoked(self, partitions: Iterable[Partition]) -> None:
        """Partitions that are no longer this task's; they were flushed."""

    def put(self, batch: Batch) -> None:
        """Take rows of one partition. RowsRefused names those that will never be taken;
        RetriableException asks for the same batch again."""
        raise NotImplementedError

    def flush(self, offsets: Mapping[Partition, int]) -> Mapping[Partition, int] | None:
        """Make durable what was put, up to these offsets. Lower offsets may be returned: what is
        returned is committed."""
        return None


@dataclass(frozen=True, slots=True)
class Connector:
    """A connector as it is found and shown. `aliases` are other names that configs may give it.

    Of sources: `exactly_once` says whether offsets tell exactly which records were yielded (None:
    it does not say), `own_boundaries` whether tasks use their `TransactionContext`.
    """

    name: str
    kind: Literal["source", "sink"]
    version: str
    settings: type[Config]
    aliases: tuple[str, ...] = ()
    exactly_once: bool | None = None
    own_boundaries: bool = False


class NoSettings(Config):
    """Of a connector that has nothing to set."""


_ATTRIBUTE: Final = "__headrace_connector__"
_Source = TypeVar("_Source", bound=type[SourceTask])
_Sink = TypeVar("_Sink", bound=type[SinkTask])


def source(
    name: str,
    *,
    version: str = "0.0.0",
    settings: type[Config] = NoSettings,
    aliases: Iterable[str] = (),
    exactly_once: bool | None = None,
    own_boundaries: bool = False,
) -> Callable[[_Source], _Source]:
    """Declare the tasks of a source connector."""

    def declare(task: _Source) -> _Source:
        declared = Connector(
            name, "source", version, settings, tuple(aliases), exactly_once, own_boundaries
        )
        setattr(task, _ATTRIBUTE, declared)
        return task

    return declare


def sink(
    name: str,
    *,
    version: str = "0.0.0",
    settings: type[Config] = NoSettings,
    aliases: Iterable[str] = (),
) -> Callable[[_Sink], _Sink]:
    """Declare the tasks of a sink connector."""

    def declare(task: _Sink) -> _Sink:
        setattr(task, _ATTRIBUTE, Connector(name, "sink", version, settings, tuple(aliases)))
        return task

    return declare


def connector_of(task: type[Task]) -> Connector:
    """What was declared of a task's class."""
    declared = getattr(task, _ATTRIBUTE, None)
    if isinstance(declared, Connector):
        return declared
    raise TypeError(
        f"{task.__qualname__} is not a connector: put @source(...) or @sink(...) before it"
    )
