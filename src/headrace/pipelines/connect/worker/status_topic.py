"""The status topic: what connectors and tasks do, as every worker says of its own.

Statuses are written by a thread of their own, in order and until the brokers have them: who starts
or stops a task does not wait for that.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Final

from headrace.client.faults import BrokerRefused
from headrace.client.settings import ClientSettings
from headrace.errors import Error, HeadraceError
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import records
from headrace.pipelines.connect.state.records import Status, TopicStatus, Write
from headrace.pipelines.connect.state.status_log import StatusLog, may_write
from headrace.pipelines.connect.worker.topic_log import TopicLog
from headrace.pipelines.connect.worker.topic_writer import TopicWriter
from headrace.records.record import Record
from headrace.runtime.clock import Clock

_LOG: Final = logging.getLogger(__name__)
_REST_S: Final = 1.0
_REFUSED: Final = (Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE, Error.INVALID_RECORD)
"""What a record is refused with that no later attempt can write."""


class StatusTopic:
    """For any number of threads."""

    def __init__(self, client: ClientSettings, topic: str, clock: Clock) -> None:
        self._log = StatusLog()
        self._changed = threading.Condition()
        self._reader = TopicLog(client, topic, self._apply, read_committed=False)
        self._writer = TopicWriter(client, topic, clock)
        self._waiting: list[Write] = []
        self._is_writing = False
        self._closing = False
        self._thread = threading.Thread(target=self._run, name=f"writer of {topic}", daemon=True)

    def open(self) -> None:
        """Read all of it, follow it, and be ready to write."""
        self._reader.open()
        self._reader.follow()
        self._thread.start()

    def close(self, timeout_s: float) -> None:
        """Have what was said written, if that is possible in time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._is_writing, timeout_s)
            self._closing = True
            self._changed.notify_all()
        self._reader.close()
        if self._thread.ident is None:
            self._writer.close()
        else:
            self._thread.join(_REST_S)

    # -- what was said ----------------------------------------------------------------------------

    def connector(self, name: str) -> Status | None:
        """What a connector does, if anybody has said so."""
        with self._changed:
            return self._log.connector(name)

    def task(self, task: TaskId) -> Status | None:
        """What a task does, if anybody has said so."""
        with self._changed:
            return self._log.task(task)

    def tasks(self, connector: str) -> dict[TaskId, Status]:
        """What the tasks of a connector do."""
        with self._changed:
            return self._log.tasks(connector)

    def connectors(self) -> frozenset[str]:
        """The connectors of which something was said."""
        with self._changed:
            return self._log.connectors()

    def topics(self, connector: str) -> list[TopicStatus]:
        """The topics that a connector was seen to use."""
        with self._changed:
            return self._log.topics(connector)

    # -- what is to be said -----------------------------------------------------------------------

    def tell_connector(self, name: str, status: Status, *, safely: bool = False) -> None:
        """Say what a connector does; `safely`: unless its new owner has spoken already."""
        with self._changed:
            if not safely or may_write(self._log.connector(name), status):
                self._put([records.connector_status(name, status)])

    def tell_task(self, task: TaskId, status: Status, *, safely: bool = False) -> None:
        """Say what a task does; `safely`: unless its new owner has spoken already."""
        with self._changed:
            if not safely or may_write(self._log.task(task), status):
                self._put([records.task_status(task, status)])

    def tell_topic(self, status: TopicStatus) -> None:
        """Say that a connector uses a topic, unless that is known."""
        with self._changed:
            if all(each.topic != status.topic for each in self._log.topics(status.connector)):
                self._put([records.topic_status(status)])

    def forget(self, connectors: Sequence[str], tasks: Sequence[TaskId]) -> None:
        """Connectors and tasks that are no more."""
        with self._changed:
            for name in connectors:
                self._put(self._log.removal(name))
            self._put([(records.task_status_key(task), None) for task in tasks])

    def forget_topics(self, connector: str) -> None:
        """Begin anew with the topics that a connector uses."""
        with self._changed:
            self._put(self._log.topic_resets(connector))

    def _put(self, writes: Sequence[Write]) -> None:
        self._waiting += writes
        self._changed.notify_all()

    # -- threads ----------------------------------------------------------------------------------

    def _apply(self, read: Sequence[Record]) -> None:
        with self._changed:
            for record in read:
                self._log.replay(record.key, record.value)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if self._closing:
                    break
                some, self._waiting = self._waiting, []
                self._is_writing = True
            try:
                self._writer.write(some)
            except HeadraceError as fault:
                self._try_again(some, fault)
            finally:
                with self._changed:
                    self._is_writing = False
                    self._changed.notify_all()
        self._writer.close()

    def _try_again(self, some: list[Write], fault: HeadraceError) -> None:
        """Later, or one by one if a record itself is refused: the others must not wait for it."""
        is_refused = isinstance(fault, BrokerRefused) and fault.error in _REFUSED
        if is_refused and len(some) == 1:
            _LOG.error("the status of %r is passed over: %s", some[0][0], fault)
            return
        _LOG.warning("statuses are not written yet: %s", fault)
        with self._changed:
            if not is_refused:
                self._waiting = some + self._waiting
                self._changed.wait_for(lambda: self._closing, _REST_S)
                return
        for place, each in enumerate(some):
            try:
                self._writer.write([each])
            except HeadraceError as own:
                if isinstance(own, BrokerRefused) and own.error in _REFUSED:
                    _LOG.error("the status of %r is passed over: %s", each[0], own)
                    continue
                with self._changed:
                    self._waiting = some[place:] + self._waiting
                return
