"""Work on a client's data that may take long: on one thread, a slice at a time, in rotation.

A few kilobytes can hold 128 MB of records. Decompressing them takes no lock of the interpreter,
but walking over them does. So the work is cut into steps, and the event loop hands the thread a
slice of them at a time: between two slices the loop serves other requests, and the next slice
belongs to the next connection. A client with much work therefore delays only itself.

The time that a connection's work takes is charged to it. Of every second it may use `SHARE`, and
one second of use ahead of time. What is not done within the client's own timeout, or whose client
has gone, is dropped.
"""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headrace.errors import ClientFault, Error
from headrace.runtime.steps import Steps

if TYPE_CHECKING:
    from headrace.broker.net.connection import Connection

SHARE: Final = 0.5
"""The part of the thread's time that one connection may use."""
_AHEAD_S: Final = 1.0
_SLICE_S: Final = 0.001

T = TypeVar("T")


@dataclass(slots=True)
class _Work:
    steps: Steps[object]
    deadline: float
    outcome: asyncio.Future[Any]  # of what the steps return


@dataclass(frozen=True, slots=True)
class _Slice:
    """What a slice of work has come to."""

    seconds: float
    is_over: bool = False
    result: object = None
    fault: BaseException | None = None


class Inspections:
    """See the module."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headrace-inspection")
        self._waiting: dict[Connection, deque[_Work]] = {}  # the one whose turn is next comes first
        self._arrived = asyncio.Event()
        self._rotation: asyncio.Task[None] | None = None

    async def run(self, connection: Connection, steps: Steps[T], timeout_ms: int) -> T:
        """What the work returns, or raises. ClientFault REQUEST_TIMED_OUT: it took too long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + max(timeout_ms, 0) / 1000
        work = _Work(steps, deadline, loop.create_future())
        self._waiting.setdefault(connection, deque()).append(work)
        self._arrived.set()
        if self._rotation is None:
            self._rotation = loop.create_task(self._rotate(loop))
        result: T = await work.outcome
        return result

    async def _rotate(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while self._waiting:
                now = loop.time()
                connection = min(self._waiting, key=lambda each: max(_ready_at(each), now))
                works = self._waiting[connection]
                work = works[0]
                fault = _why_dropped(connection, work, now)
                if fault is None and _ready_at(connection) > now:
                    await self._pause(min(_ready_at(connection), work.deadline))
                    continue
                self._waiting[connection] = self._waiting.pop(connection)  # behind all others
                part = _next_slice if fault is None else partial(_drop, fault)
                try:
                    done = await loop.run_in_executor(self._thread, part, work.steps)
                except RuntimeError as error:  # no thread can be started
                    done = _Slice(0.0, is_over=True, fault=error)
                used = done.seconds / SHARE
                connection.inspected_until = max(connection.inspected_until, now) + used
                if done.is_over:
                    works.popleft()
                    _tell(work.outcome, done)
                    if not works:
                        del self._waiting[connection]
        finally:
            self._rotation = None

    async def _pause(self, until: float) -> None:
        """Wait for more work, or until a connection is within its budget again."""
        self._arrived.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await self._arrived.wait()

    def close(self) -> None:
        """Drop what is not done."""
        if self._rotation is not None:
            self._rotation.cancel()
        for works in self._waiting.values():
            for work in works:
                work.outcome.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)


def _ready_at(connection: Connection) -> float:
    """When a connection has not used more than its share."""
    return connection.inspected_until - _AHEAD_S


def _why_dropped(connection: Connection, work: _Work, now: float) -> ClientFault | None:
    if connection.ended or work.outcome.done():
        return ClientFault(Error.NETWORK_EXCEPTION, "the client has gone")
    if now >= work.deadline:
        return ClientFault(
            Error.REQUEST_TIMED_OUT,
            "the broker could not read the records within the request's timeout: send smaller "
            "batches",
        )
    return None


def _next_slice(steps: Steps[object]) -> _Slice:
    """Go on for a slice; on the thread."""
    began = perf_counter()
    try:
        while perf_counter() - began < _SLICE_S:
            next(steps)
    except StopIteration as end:
        return _Slice(perf_counter() - began, is_over=True, result=end.value)
    except Exception as fault:
        return _Slice(perf_counter() - began, is_over=True, fault=fault)
    return _Slice(perf_counter() - began)


def _drop(why: ClientFault, steps: Steps[object]) -> _Slice:
    """Give work up; on the thread, because it may have to wait for a decompressor."""
    steps.close()
    return _Slice(0.0, is_over=True, fault=why)


def _tell(outcome: asyncio.Future[object], done: _Slice) -> None:
    if outcome.done():
        return  # the request was cancelled
    if done.fault is not None:
        outcome.set_exception(done.fault)
    else:
        outcome.set_result(done.result)
