"""The event loop of one simulated process: asyncio's own tasks and futures, on virtual time.

A program that is written for asyncio runs here unchanged: what is ready runs in one
event of the world's schedule, timers are events of their own, and a call in a thread is two, one
that does the work and one that brings its result. A loop can be stopped and go on later, as a
process does on SIGSTOP and SIGCONT, or end in the middle of anything, as it does on SIGKILL. There
are no sockets.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar, cast

from headrace.testing.schedule import Alarm, Schedule

T = TypeVar("T")

_MOST_AWAITS: Final = 20


class Threads(Protocol):
    """A thread pool on simulated time; the implementation decides how long work takes."""

    def run(self, loop: SimulatedLoop, work: Callable[[], T], done: asyncio.Future[T]) -> None: ...


class _Timer(asyncio.TimerHandle):
    """A timer whose event is taken out of the schedule when it is cancelled."""

    __slots__ = ("alarm",)

    alarm: Alarm | None

    def cancel(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
        asyncio.Handle.cancel(self)


_Loop: Any = asyncio.AbstractEventLoop
"""Untyped, because a loop without sockets leaves out most of its methods."""


class SimulatedLoop(_Loop):  # type: ignore[misc]
    """See the module. What happens next is decided by the schedule, which many loops share.

    >>> schedule = Schedule(seed=1)
    >>> loop = SimulatedLoop("b1", schedule)
    >>> async def story() -> None:
    ...     await asyncio.sleep(3600)
    ...     print("an hour later")
    >>> with loop.running():
    ...     task = loop.create_task(story())
    >>> while schedule.step(until_ms=4_000_000):
    ...     pass
    an hour later
    """

    def __init__(self, name: str, schedule: Schedule) -> None:
        self.name = name
        self.is_dead = False
        self.is_stopped = False
        self.faults: list[BaseException] = []  # what tasks and callbacks raised and nobody caught
        self.after_turn: Callable[[], None] = lambda: None
        self._schedule = schedule
        self._ready: deque[asyncio.Handle] = deque()
        self._is_due = False
        self._threads: Threads | None = None

    # Time and turns.

    def time(self) -> float:
        return self._schedule.elapsed_ms / 1000

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if self.is_dead:
            return handle
        self._ready.append(handle)
        if not self._is_due and not self.is_stopped:
            self._is_due = True
            self._schedule.after(0, self.name, self._turn)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.Handle:
        """Something reaches the loop from outside; it turns at once, unless it is about to."""
        handle = asyncio.Handle(callback, args, self, context)
        if not self.is_dead:
            self._ready.append(handle)
            if not self._is_due and not self.is_stopped:
                self._turn()
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        when = self.time() + delay
        timer = _Timer(when, callback, args, self, context)
        delay_ms = max(-int(-delay * 1000 // 1), 0)
        timer.alarm = self._schedule.after(delay_ms, self.name, lambda: self._ring(timer))
        return timer

    def call_at(
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_later(when - self.time(), callback, *args, context=context)

    def _ring(self, timer: _Timer) -> None:
        timer.alarm = None
        self._ready.append(timer)
        if not self._is_due:
            self._turn()

    def _turn(self) -> None:
        """Run everything that is ready, and what becomes ready by it."""
        self._is_due = False
        if self.is_dead or self.is_stopped:
            return
        ready = self._ready
        self._is_due = True  # whatever asks for a turn now gets it in this one
        with self.running():
            while ready and not self.is_dead:
                handle = ready.popleft()
                if not handle._cancelled:
                    handle._run()
        self._is_due = False
        self.after_turn()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the loop that code finds as the running one."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(before)

    def stop(self) -> None:
        """SIGSTOP: nothing happens here until `go_on`."""
        self.is_stopped = True

    def go_on(self) -> None:
        self.is_stopped = False
        if self._ready and not self._is_due:
            self._is_due = True
            self._schedule.after(0, self.name, self._turn)

    def end(self) -> None:
        """SIGKILL."""
        self.is_dead = True
        self._ready.clear()
        tasks = sorted(asyncio.all_tasks(self), key=lambda task: int(task.get_name()[5:]))
        logging.disable()
        with self.running():
            for task in tasks:
                _let_go(cast(Coroutine[Any, Any, Any], task.get_coro()))
        logging.disable(logging.NOTSET)

    # What asyncio asks of a loop.

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Any = None
    ) -> asyncio.Task[T]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def run_in_executor(
        self, executor: Threads | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        done = self.create_future()
        if self.is_dead:
            return done
        threads = executor or self._threads
        assert threads is not None
        threads.run(self, (lambda: func(*args)) if args else func, done)
        return done

    def finish(
        self, done: asyncio.Future[T], result: T | None, fault: BaseException | None
    ) -> None:
        """Bring the result of a thread back into the loop."""

        def put() -> None:
            if done.cancelled():
                return
            if fault is not None:
                done.set_exception(fault)
            else:
                done.set_result(result)  # type: ignore[arg-type]

        self.call_soon_threadsafe(put)

    def outcome_of(self, work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
        """What a piece of work returns or raises that a thread of this process does."""
        with self.running():
            return outcome(work)

    def set_default_executor(self, executor: Any) -> None:
        self._threads = executor

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        fault = context.get("exception")
        if not self.is_dead:
            self.faults.append(fault or RuntimeError(context.get("message", "")))

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.is_dead

    def is_closed(self) -> bool:
        return False


class DiskThreads:
    """Threads that wait for a disk."""

    def __init__(self, schedule: Schedule, delay_ms: Callable[[], int]) -> None:
        self._schedule = schedule
        self._delay_ms = delay_ms

    def run(self, loop: SimulatedLoop, work: Callable[[], T], done: asyncio.Future[T]) -> None:
        def act() -> None:
            if loop.is_dead:
                return
            result, fault = loop.outcome_of(work)
            loop.finish(done, result, fault)
            if loop.is_stopped:
                loop.after_turn()

        self._schedule.after(self._delay_ms(), f"{loop.name} disk", act)

    def shutdown(self) -> None:
        """As a thread pool has it; there is nothing to end."""


def _let_go(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Take a coroutine down now, while nothing that it does in doing so matters any more."""
    for _ in range(_MOST_AWAITS):
        try:
            coroutine.close()
        except RuntimeError:
            continue  # it waits for something on its way out
        except BaseException:
            pass  # what it thinks of that is of no interest
        return


def outcome(work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """What a piece of work returns, or raises."""
    try:
        return work(), None
    except BaseException as fault:  # a thread's fault goes to whoever waits for it
        return None, fault
