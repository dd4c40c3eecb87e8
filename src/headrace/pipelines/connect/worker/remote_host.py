"""A host outside of this process: launched, told its tasks, and launched again when it has died.

    launch ── Hello ──> serving ── the connection ends ──> its tasks FAILED ── back-off ──> launch

How a host is launched is for `processes` and `spark_hosts` to know. Tasks that had failed by
themselves before the host died stay as they are.
"""

from __future__ import annotations

import hmac
import itertools
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Final, Protocol

from headrace.pipelines.connect.config import connector as keys
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
    Pause,
    Read,
    Reconfigure,
    Reported,
    Resume,
    Start,
    Stop,
    Stopped,
    TooLarge,
    Used,
    Writes,
    encoded,
)
from headrace.pipelines.connect.host.host import OnReconfigure, OnState, OnTopic
from headrace.pipelines.connect.host.source_loop import OffsetStore
from headrace.pipelines.connect.host.transactional_loop import TransactionalOffsets
from headrace.pipelines.connect.state.records import State

_LOG: Final = logging.getLogger(__name__)
_LOOPBACK: Final = "127.0.0.1"
_LOOK_S: Final = 0.2
_ARRIVAL_S: Final = 120.0
_HELLO_S: Final = 10.0
_MARGIN_S: Final = 2.0
"""How much longer than a host may take to stop tasks its answer is waited for."""
_END_S: Final = 10.0
_FIRST_DELAY_S: Final = 1.0
_MOST_DELAY_S: Final = 60.0
_STORE_THREADS: Final = 8
_SEND_S: Final = 10.0
"""How long a host may take nothing of what it is told before it counts as dead."""


class Launched(Protocol):
    """A host on its way, or at work."""

    def has_ended(self) -> bool: ...

    def end(self) -> str:
        """Wait a little for it to end by itself, then end it; how it ended."""


Launch = Callable[[Address, str], Launched]
"""Start a host that calls back at an address, with a token."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of tasks, in threads of their hosts."""

    on_state: OnState
    on_reconfigure: OnReconfigure
    on_topic: OnTopic = lambda task, topic: None


class RemoteHost:
    """The face of `Host`, for tasks in another process."""

    def __init__(self, launch: Launch, listeners: Listeners) -> None:
        self._launch = launch
        self._listeners = listeners
        self._lock = threading.Lock()
        self._specs: dict[TaskId, TaskSpec] = {}
        self._stopping: dict[TaskId, TaskSpec] = {}
        self._failed: set[TaskId] = set()
        self._channel: Channel[FromHost] | None = None
        self._calls: dict[int, Future[list[TaskId]]] = {}
        self._numbers = itertools.count()
        self._stores = ThreadPoolExecutor(_STORE_THREADS, "offsets")
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="host", daemon=True)
        self._thread.start()

    # -- the face ---------------------------------------------------------------------------------

    def start(self, spec: TaskSpec) -> None:
        """Start a task that is not running; it fails if no host can be told of it."""
        refusal = _refusal(spec)
        if refusal is not None:
            trace = f"{ConnectException.java_class}: {refusal}\n"
            self._listeners.on_state(spec.id, State.FAILED, trace)
            return
        with self._lock:
            assert spec.id not in self._specs, "a task runs once"
            self._specs[spec.id] = spec
            self._tell(_started(spec))

    def stop(self, tasks: Iterable[TaskId], timeout_s: float) -> list[TaskId]:
        """Ask these to stop and wait for them; returns those that have not ended in time."""
        call: Future[list[TaskId]] = Future()
        with self._lock:
            chosen = {task: self._specs.pop(task) for task in tasks if task in self._specs}
            self._failed -= chosen.keys()
            if not chosen or self._channel is None:
                return []
            self._stopping |= chosen  # they keep their offsets before they end
            number = next(self._numbers)
            self._calls[number] = call
            self._tell(Stop(number, list(chosen), timeout_s))
        try:
            return call.result(timeout_s + _MARGIN_S)
        except TimeoutError:
            _LOG.error("a host has not answered within %g s", timeout_s + _MARGIN_S)
            return list(chosen)
        finally:
            with self._lock:
                for task in chosen:
                    del self._stopping[task]

    def pause(self, tasks: Iterable[TaskId]) -> None:
        """Let these rest."""
        with self._lock:
            self._tell(Pause(self._changed(tasks, paused=True)))

    def resume(self, tasks: Iterable[TaskId]) -> None:
        """Let these go on."""
        with self._lock:
            self._tell(Resume(self._changed(tasks, paused=False)))

    def close(self, timeout_s: float) -> None:
        """Stop every task, and end the host."""
        self.stop(self.tasks, timeout_s)
        self._closing.set()
        with self._lock:
            if self._channel is not None:
                self._channel.close()
        self._thread.join(_END_S)
        self._stores.shutdown(wait=False, cancel_futures=True)

    @property
    def tasks(self) -> list[TaskId]:
        """Those that were started and not stopped, failed ones included."""
        return list(self._specs)

    def _changed(self, tasks: Iterable[TaskId], *, paused: bool) -> list[TaskId]:
        chosen = [task for task in tasks if task in self._specs]
        for task in chosen:
            self._specs[task] = replace(self._specs[task], paused=paused)
        return chosen

    def _tell(self, frame: FromWorker) -> None:
        if self._channel is not None:
            with suppress(Gone):  # the supervisor hears of it too
                self._channel.send(frame)

    # -- its lives --------------------------------------------------------------------------------

    def _supervise(self) -> None:
        delay_s = _FIRST_DELAY_S
        while not self._closing.is_set():
            began = time.monotonic()
            try:
                why = self._live()
            except Exception as fault:  # whatever it is, tasks must be seen to have failed by it
                why = f"it cannot be launched: {fault}"
            if self._closing.is_set():
                return
            if time.monotonic() - began > _MOST_DELAY_S:
                delay_s = _FIRST_DELAY_S
            self._report_death(why, delay_s)
            self._closing.wait(delay_s)
            delay_s = min(delay_s * 2, _MOST_DELAY_S)

    def _live(self) -> str:
        """One life of a host; how it ended."""
        token = secrets.token_hex(16)
        with socket.create_server((_LOOPBACK, 0)) as server:
            launched = self._launch(server.getsockname(), token)
            try:
                channel = self._arrival(server, token, launched)
                if channel is not None:
                    with closing(channel):
                        self._attend(channel)
            finally:
                how = launched.end()
        return how

    def _arrival(
        self, server: socket.socket, token: str, launched: Launched
    ) -> Channel[FromHost] | None:
        """The connection of the host; None if it ended before, or takes too long."""
        server.settimeout(_LOOK_S)
        until = time.monotonic() + _ARRIVAL_S
        while time.monotonic() < until and not self._closing.is_set():
            if launched.has_ended():
                return None
            with suppress(TimeoutError):
                connection, _ = server.accept()
                channel: Channel[FromHost] = Channel(connection, FromHost, _SEND_S)
                with suppress(Gone):
                    hello = channel.receive_hello(_HELLO_S)
                    if isinstance(hello, Hello) and _is_same(hello.token, token):
                        return channel
                channel.close()
        return None

    def _attend(self, channel: Channel[FromHost]) -> None:
        """Hand over the tasks, then do what the host says until it is gone."""
        with self._lock:
            self._channel = channel
            for task, spec in self._specs.items():
                if task not in self._failed or _restarts(spec):
                    self._tell(_started(spec))
        try:
            while not self._closing.is_set():
                self._follow(channel, channel.receive())
        except Gone:
            pass
        finally:
            with self._lock:
                self._channel = None
                calls, self._calls = list(self._calls.values()), {}
            for call in calls:
                call.set_result([])  # whatever they were to stop has ended with the host

    def _report_death(self, how: str, delay_s: float) -> None:
        with self._lock:
            dead = [
                task
                for task, spec in self._specs.items()
                if task not in self._failed or _restarts(spec)
            ]
        for task in dead:
            trace = (
                f"{ConnectException.java_class}: the host of task {task} has died ({how}); it is "
                f"started again in {delay_s:g} s\n"
            )
            self._listeners.on_state(task, State.FAILED, trace)

    # -- what the host says -----------------------------------------------------------------------

    def _follow(self, channel: Channel[FromHost], frame: FromHost) -> None:
        match frame:
            case Reported():
                with self._lock:
                    if frame.state is State.FAILED:
                        self._failed.add(frame.task)
                    else:
                        self._failed.discard(frame.task)
                self._listeners.on_state(frame.task, frame.state, frame.trace)
            case Reconfigure():
                self._listeners.on_reconfigure(frame.connector)
            case Used():
                self._listeners.on_topic(frame.task, frame.topic)
            case Stopped():
                with self._lock:
                    call = self._calls.pop(frame.call, None)
                if call is not None:
                    call.set_result(frame.late)
            case Read() | Keep() | Writes():
                self._stores.submit(self._answer, channel, frame)
            case Hello():
                raise Gone("a second greeting")

    def _answer(self, channel: Channel[FromHost], question: Read | Keep | Writes) -> None:
        with suppress(Gone):
            try:
                channel.send(self._answered(question))
            except Gone:
                raise
            except Exception as fault:  # the task fails by it, wherever it runs
                told = f"{type(fault).__qualname__}: {fault}"
                channel.send(Answer(question.call, fault=told))

    def _answered(self, question: Read | Keep | Writes) -> Answer:
        with self._lock:
            spec = self._specs.get(question.task) or self._stopping.get(question.task)
        if spec is None:
            raise ConnectException(f"task {question.task} was stopped")
        offsets = spec.offsets
        if isinstance(question, Read):
            found = offsets.read(question.partition)
            return Answer(question.call, offset=None if found is None else dict(found))
        if isinstance(question, Keep):
            assert isinstance(offsets, OffsetStore)
            offsets.keep(list(question.offsets))
            return Answer(question.call)
        assert isinstance(offsets, TransactionalOffsets)
        return Answer(question.call, writes=offsets.writes(list(question.offsets)))


def _started(spec: TaskSpec) -> Start:
    offsets = spec.offsets
    assert spec.transactional_id is None or isinstance(offsets, TransactionalOffsets)
    return Start(
        spec.id,
        dict(spec.config),
        dict(spec.worker),
        spec.flush_interval_ms,
        spec.transactional_id,
        spec.paused,
        offsets.topic if isinstance(offsets, TransactionalOffsets) else None,
    )


def _refusal(spec: TaskSpec) -> str | None:
    """Why no host can have it: one that was told, with all its tasks, would end by it each time."""
    try:
        encoded(_started(spec))
    except TooLarge as fault:
        return (
            f"the settings of task {spec.id} are too large for a host outside of the worker's "
            f"process ({fault}): make them smaller, have more tasks share them (tasks.max), or "
            "set headrace.runtime=thread"
        )
    return None


def _is_same(shown: str, token: str) -> bool:
    """In bytes: texts beyond ASCII cannot be compared without telling where they differ."""
    return hmac.compare_digest(shown.encode(), token.encode())


def _restarts(spec: TaskSpec) -> bool:
    """Whether a failed task would have been restarted by the host that has died."""
    return keys.OURS.read(spec.config)["headrace.task.restart"] == "on-failure"
