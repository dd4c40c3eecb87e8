"""What workers tell each other through the group's coordinator: their state, and who runs what.

    OFFSET  SIZE  TYPE   FIELD
         0     2  int16  version: 0 eager, 1 compatible, 2 sessioned
         2     n         fields of `WorkerState` or `Assignment`, never flexible

The protocol type is `connect`. A worker offers every protocol that it speaks (`offered`), and the
coordinator picks the one that all speak. Task -1 of a connector stands for the connector itself.
Bytes that follow the fields belong to versions to come and are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from struct import Struct
from typing import Final, TypeVar

from headrace.types import Buffer
from headrace.wire import MalformedMessage, decoder, encode_bytes
from headrace.wire.schema import data, info, struct, v
from headrace.wire.types import Int16, Int32, Int64

PROTOCOL_TYPE: Final = "connect"

EAGER: Final = 0
COMPATIBLE: Final = 1
SESSIONED: Final = 2

NAMES: Final = {EAGER: "default", COMPATIBLE: "compatible", SESSIONED: "sessioned"}
"""The names under which the versions are offered to the coordinator."""

VERSIONS: Final = {"eager": EAGER, "compatible": COMPATIBLE, "sessioned": SESSIONED}
"""What `connect.protocol` says, and the version that it means."""

NO_ERROR: Final = 0
CONFIG_MISMATCH: Final = 1
"""The leader has not read the config topic as far as another worker: everybody joins again."""

_CONNECTOR: Final = -1
_VERSION: Final = Struct(">h")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class TaskId:
    """A task of a connector."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True)
class Work:
    """Connectors and tasks, each in the order in which it was given out."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.connectors or self.tasks)


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader gives one worker.

    Under `EAGER` `given` is all that the worker runs. Later it is added to what the worker has,
    `revoked` is taken away first, and `delay_ms` is when to join again by itself.
    """

    leader: str
    leader_url: str
    config_offset: int
    given: Work = Work()
    revoked: Work = Work()
    delay_ms: int = 0
    error: int = NO_ERROR
    version: int = SESSIONED


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What a worker tells the leader: its address, how far it has read, what it runs.

    `assignment` is None in a worker that has never had one, and always under `EAGER`.
    """

    url: str
    config_offset: int
    assignment: Assignment | None = None
    version: int = SESSIONED


# --- bytes ---


@struct
class _Tasks:
    connector: str
    tasks: list[Int32]


@data(versions="0-2")
class _WorkerState:
    url: str
    config_offset: Int64
    assignment: bytes | None = v(1, default=None)


@data(versions="0-2")
class _Assignment:
    error: Int16
    leader: str
    leader_url: str
    config_offset: Int64
    given: list[_Tasks] | None
    revoked: list[_Tasks] | None = v(1, default=None)
    delay_ms: Int32 = v(1, default=0)


def encode_state(state: WorkerState) -> bytes:
    """The metadata that a worker joins with."""
    message = _WorkerState(url=state.url, config_offset=state.config_offset)
    if state.version > EAGER and state.assignment is not None:
        held = replace(state.assignment, version=state.version)
        message.assignment = encode_assignment(held)
    return _VERSION.pack(state.version) + encode_bytes(message, state.version)


def decode_state(buf: Buffer) -> WorkerState:
    """What a worker said; MalformedMessage if the bytes say nothing of that kind."""
    version, message = _decode(_WorkerState, bytes(buf))
    held = None if message.assignment is None else decode_assignment(message.assignment)
    return WorkerState(message.url, message.config_offset, held, version)


def encode_assignment(assignment: Assignment) -> bytes:
    """What the leader hands the coordinator for one worker."""
    message = _Assignment(
        error=assignment.error,
        leader=assignment.leader,
        leader_url=assignment.leader_url,
        config_offset=assignment.config_offset,
        given=_listed(assignment.given),
    )
    if assignment.version > EAGER:
        message.revoked = _listed(assignment.revoked)
        message.delay_ms = assignment.delay_ms
    return _VERSION.pack(assignment.version) + encode_bytes(message, assignment.version)


def decode_assignment(buf: Buffer) -> Assignment:
    """What a worker was given; MalformedMessage if the bytes say nothing of that kind."""
    version, message = _decode(_Assignment, bytes(buf))
    return Assignment(
        message.leader,
        message.leader_url,
        message.config_offset,
        _work(message.given or ()),
        _work(message.revoked or ()),
        message.delay_ms,
        message.error,
        version,
    )


def offered(state: WorkerState, version: int) -> list[tuple[str, bytes]]:
    """The protocols that a worker joins with, by preference: `version` and those below it."""
    return [
        (NAMES[each], encode_state(replace(state, version=each)))
        for each in range(version, EAGER - 1, -1)
    ]


def _listed(work: Work) -> list[_Tasks]:
    """Connectors in the order in which they first occur, each with its tasks."""
    tasks: dict[str, list[int]] = {}
    for connector in work.connectors:
        tasks.setdefault(connector, []).append(_CONNECTOR)
    for task in work.tasks:
        tasks.setdefault(task.connector, []).append(task.task)
    return [_Tasks(connector=name, tasks=numbers) for name, numbers in tasks.items()]


def _work(listed: Sequence[_Tasks]) -> Work:
    pairs = [(each.connector, number) for each in listed for number in each.tasks]
    return work_of(pairs)


def work_of(pairs: Iterable[tuple[str, int]]) -> Work:
    """Work from connectors and task numbers, where -1 stands for the connector itself."""
    known = tuple(pairs)
    return Work(
        tuple(name for name, number in known if number == _CONNECTOR),
        tuple(TaskId(name, number) for name, number in known if number != _CONNECTOR),
    )


def _decode(cls: type[T], buf: bytes) -> tuple[int, T]:
    if len(buf) < _VERSION.size:
        raise MalformedMessage(info(cls).name, None, "it has no version")
    (version,) = _VERSION.unpack_from(buf)
    if version < 0:
        raise MalformedMessage(info(cls).name, version, "versions are not negative")
    message: T
    known = min(version, info(cls).versions[-1])
    message, _ = decoder(cls, known)(buf, _VERSION.size, memoryview(buf))
    return version, message
