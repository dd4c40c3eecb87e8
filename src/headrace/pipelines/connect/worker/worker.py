"""What a worker can be asked, whether it is alone or one of a group: the face that REST sees.

Each call may wait for brokers and for other workers, and is made from any thread. What cannot be
raises the fault that Connect has for it, in its words; `herder.codes` knows the HTTP status. A
worker that is not the one to ask raises `NotTheLeader` or `NotTheOwner`, with who is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.herder.offsets import Asked
from headrace.pipelines.connect.state.records import RestartRequest, Settings, Status, TargetState


class AskElsewhere(ConnectException):
    """Another worker must answer this; `url` is its address, None while nobody knows it."""

    def __init__(self, message: str, url: str | None) -> None:
        super().__init__(message)
        self.url = url


class NotTheLeader(AskElsewhere):
    """Only the leader changes settings."""


class NotTheOwner(AskElsewhere):
    """Only the worker that runs a connector or task restarts it."""


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector as it is configured. `kind` is None if its class is unknown here."""

    name: str
    config: Settings
    tasks: tuple[TaskId, ...]
    kind: Literal["source", "sink"] | None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """What a connector and its tasks do; UNASSIGNED is who has not said anything yet."""

    name: str
    status: Status
    tasks: Mapping[TaskId, Status]
    kind: Literal["source", "sink"] | None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a worker adds to a call to another one: its key's algorithm and the body's HMAC."""

    algorithm: str
    digest: bytes


class Worker(Protocol):
    """Standalone or distributed."""

    # -- the worker itself ------------------------------------------------------------------------

    def cluster_id(self) -> str:
        """The id of the Kafka cluster that it works with."""

    def trouble(self) -> str | None:
        """Why it cannot serve yet, or any more; None if it is well."""

    # -- connectors -------------------------------------------------------------------------------

    def connectors(self) -> list[str]: ...

    def info(self, name: str) -> ConnectorInfo: ...

    def status(self, name: str) -> ConnectorStatus: ...

    def task_status(self, task: TaskId) -> Status: ...

    def task_configs(self, name: str) -> Mapping[TaskId, Settings]: ...

    def create(self, name: str, config: Settings, initial: TargetState | None) -> ConnectorInfo: ...

    def configure(self, name: str, config: Settings) -> tuple[ConnectorInfo, bool]:
        """Set all settings; true: the connector is new."""

    def patch(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo: ...

    def delete(self, name: str) -> None: ...

    def aim(self, name: str, target: TargetState) -> None:
        """Pause, resume or stop."""

    # -- restarts ---------------------------------------------------------------------------------

    def restart_connector(self, name: str) -> None:
        """The connector alone, by the worker that runs it."""

    def restart_task(self, task: TaskId) -> None: ...

    def restart(self, request: RestartRequest) -> ConnectorStatus:
        """The connector and those of its tasks that are meant, wherever they run; what is answered
        has RESTARTING for each of them."""

    # -- offsets and topics -----------------------------------------------------------------------

    def offsets(
        self, name: str
    ) -> Sequence[tuple[Mapping[str, object], Mapping[str, object] | None]]: ...

    def alter_offsets(self, name: str, asked: Asked) -> str:
        """Returns the message that tells what was done."""

    def reset_offsets(self, name: str) -> str: ...

    def topics(self, name: str) -> list[str]: ...

    def reset_topics(self, name: str) -> None: ...

    # -- loggers of every worker ------------------------------------------------------------------

    def set_logger_level(self, logger: str, level: str) -> None: ...

    # -- from other workers -----------------------------------------------------------------------

    def put_task_configs(
        self, name: str, tasks: Sequence[Settings], body: bytes, signature: Signature | None
    ) -> None: ...

    def fence(self, name: str, body: bytes, signature: Signature | None) -> None: ...
