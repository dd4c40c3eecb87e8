"""A host outside of the worker's process: tasks in threads, told by the worker what to do.

It lives as long as its connection to the worker. When that ends, tasks get a moment to stop; what
they hold by then is not committed, and whoever starts them again goes on from the last commit.
"""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Final

from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.host.assembly import TaskSpec
from headrace.pipelines.connect.host.control import (
    Address,
    Answer,
    Channel,
    FromHost,
    FromWorker,
    Gone,
    Hello,
    Keep,
    Moved,
    Pause,
    Read,
    Reconfigure,
    Reported,
    Resume,
    Start,
    Stop,
    Stopped,
    Used,
    Writes,
)
from headrace.pipelines.connect.host.host import Host
from headrace.pipelines.connect.model.batch import Position
from headrace.pipelines.connect.state.records import Write
from headrace.runtime.clock import SystemClock

ADDRESS: Final = "HEADRACE_CONNECT_WORKER"
TOKEN: Final = "HEADRACE_CONNECT_TOKEN"
_LAST_MOMENT_S: Final = 3.0
_NO_WORKER: Final = "the worker of this host is gone"


def serve(address: Address, token: str) -> bool:
    """Run tasks until the worker is gone; false if some of them have not ended."""
    with socket.create_connection(address) as connection:
        channel: Channel[FromWorker] = Channel(connection, FromWorker)
        channel.send(Hello(token))
        return _Hosted(channel).run()


def serve_partition(places: Iterable[tuple[Address, str]]) -> Iterable[None]:
    """The endless work of a Spark task."""
    for address, token in places:
        if not serve(address, token):
            os._exit(1)  # the process would be used for other work, beside what has not ended
    return ()


class _Hosted:
    def __init__(self, channel: Channel[FromWorker]) -> None:
        self._channel = channel
        self._calls: dict[int, Future[Answer]] = {}
        self._numbers = itertools.count()
        self._is_alone = False
        self._lock = threading.Lock()
        self._host = Host(
            SystemClock(),
            lambda task, state, trace: self._tell(Reported(task, state, trace)),
            lambda connector: self._tell(Reconfigure(connector)),
            lambda task, topic: self._tell(Used(task, topic)),
        )

    def run(self) -> bool:
        with suppress(Gone):
            while True:
                self._follow(self._channel.receive())
        with self._lock:
            self._is_alone = True
            waiting, self._calls = list(self._calls.values()), {}
        for each in waiting:
            each.set_exception(ConnectException(_NO_WORKER))
        return not self._host.stop(self._host.tasks, _LAST_MOMENT_S)

    def _follow(self, frame: FromWorker) -> None:
        match frame:
            case Start():
                self._host.start(self._spec(frame))
            case Stop():
                # Tasks that stop ask about offsets, and this thread must hear the answers.
                threading.Thread(target=self._stop, args=(frame,), daemon=True).start()
            case Pause():
                self._host.pause(frame.tasks)
            case Resume():
                self._host.resume(frame.tasks)
            case Answer():
                with self._lock:
                    call = self._calls.pop(frame.call)
                call.set_result(frame)

    def _stop(self, frame: Stop) -> None:
        late = self._host.stop(frame.tasks, frame.timeout_s)
        self._tell(Stopped(frame.call, late))

    def _spec(self, frame: Start) -> TaskSpec:
        if frame.transactional_id is None or frame.offsets_topic is None:
            offsets: _Offsets | _OffsetsInTopic = _Offsets(frame.id, self.ask)
        else:
            offsets = _OffsetsInTopic(frame.id, self.ask, frame.offsets_topic)
        return TaskSpec(
            frame.id,
            frame.config,
            frame.worker,
            offsets,
            frame.flush_interval_ms,
            frame.transactional_id,
            frame.paused,
        )

    def _tell(self, frame: FromHost) -> None:
        with suppress(Gone):  # who receives hears of it too
            self._channel.send(frame)

    def ask(self, question: Callable[[int], FromHost]) -> Answer:
        """What the worker answers; ConnectException if it cannot, or is gone."""
        number = next(self._numbers)
        call: Future[Answer] = Future()
        with self._lock:
            if self._is_alone:
                raise ConnectException(_NO_WORKER)
            self._calls[number] = call
        self._tell(question(number))
        answer = call.result()
        if answer.fault is not None:
            raise ConnectException(answer.fault)
        return answer


_Ask = Callable[[Callable[[int], FromHost]], Answer]


class _Asking:
    def __init__(self, task: TaskId, ask: _Ask) -> None:
        self._task = task
        self._ask = ask

    def read(self, partition: Position) -> Mapping[str, object] | None:
        """What was kept last of a partition."""
        return self._ask(lambda call: Read(call, self._task, dict(partition))).offset


class _Offsets(_Asking):
    """The `OffsetStore` of a task: the worker's."""

    def keep(self, offsets: list[tuple[Position, Position]]) -> None:
        """Keep these, all or none; return when they are safe."""
        self._ask(lambda call: Keep(call, self._task, _moved(offsets)))


class _OffsetsInTopic(_Asking):
    """The `TransactionalOffsets` of a task: the worker's."""

    def __init__(self, task: TaskId, ask: _Ask, topic: str) -> None:
        super().__init__(task, ask)
        self.topic = topic

    def writes(self, offsets: list[tuple[Position, Position]]) -> list[Write]:
        """The records that keep these."""
        return self._ask(lambda call: Writes(call, self._task, _moved(offsets))).writes


def _moved(offsets: list[tuple[Position, Position]]) -> Moved:
    return [(dict(partition), dict(offset)) for partition, offset in offsets]
