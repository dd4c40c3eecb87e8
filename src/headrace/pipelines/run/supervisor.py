"""Watches over the queries of one pipeline until it ends, is stopped or fails too often.

The function of the pipeline runs in a thread, so that a stop is heard also while it computes. When
any query fails, the others are stopped after their current batch and, after a pause, the function
is called again: a pipeline lives and falls as a whole, and checkpoints carry on where it was. A
function that fails in its very first call is not called again, because that is a mistake in it, and
neither is one whose query failed for a reason that another attempt does not change.

Time, chance and the wish to stop are arguments; what happens is told as events.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from headrace.errors import HeadraceError
from headrace.pipelines.run.backoff import Backoff
from headrace.pipelines.run.causes import cause_of, is_permanent
from headrace.pipelines.run.progress import QueryProgress, parse_progress
from headrace.pipelines.run.queries import (
    NamedQuery,
    WrongPipeline,
    name_queries,
    nameless_query,
    random_folders,
    remove_random_folders,
    start_queries,
)
from headrace.pipelines.run.watching import is_idle, new_reports, stop_between_batches


class PipelineFailed(HeadraceError):
    """The pipeline has failed for good; `trace` is all that Spark had to say."""

    def __init__(self, message: str, cause: str, trace: str) -> None:
        super().__init__(message)
        self.cause = cause
        self.trace = trace


class Started(NamedTuple):
    queries: tuple[str, ...]


class Progressed(NamedTuple):
    progress: QueryProgress
    report: Mapping[str, Any]  # as Spark told it


class Finished(NamedTuple):
    """A query has done its work and ended by itself."""

    query: str


class Failed(NamedTuple):
    """A query has failed and the pipeline will be started again after a pause."""

    query: str
    cause: str
    trace: str
    restart_in_s: float


class Stopping(NamedTuple):
    queries: tuple[str, ...]


class Ended(NamedTuple):
    """Nothing runs any more; `stopped` if that was asked for."""

    stopped: bool


Event: TypeAlias = Started | Progressed | Finished | Failed | Stopping | Ended


class Policy(NamedTuple):
    """How to run the pipeline."""

    only_name: str = "query"  # of a single writer that has none
    once: bool = False  # process what is there, then end
    max_restarts: int = 10  # in a row; a batch with rows, or long calm, ends the row
    backoff: Backoff = Backoff()
    stop_timeout_s: float = 30.0
    tick_s: float = 0.25
    progress_every_s: float = 1.0
    every_progress: bool = False  # tell each trigger, not only the last one
    calm_s: float = 300.0
    checkpoints: Path | None = None  # where to look for queries without a name


@dataclass(frozen=True, slots=True)
class World:
    """What the supervisor asks of its surroundings."""

    stop_requested: Callable[[], bool]
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    draw: Callable[[], float]
    prepare_thread: Callable[[], None]  # called where the pipeline's function will run


class _Fault(NamedTuple):
    query: str
    error: BaseException


@dataclass(slots=True)
class _Call:
    """One call of the pipeline's function, in a thread of its own."""

    function: Callable[[Any], Any]
    spark: Any
    prepare: Callable[[], None]
    result: Any = None
    error: BaseException | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, name="pipeline", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.prepare()
            self.result = self.function(self.spark)
        except BaseException as error:  # told by the supervisor, SystemExit included
            self.error = error

    @property
    def running(self) -> bool:
        return self.thread.is_alive()


class Supervisor:
    """Iterate over `events` until it ends; raises PipelineFailed when it gives up."""

    def __init__(
        self, spark: Any, function: Callable[[Any], Any], policy: Policy, world: World
    ) -> None:
        self._spark = spark
        self._function = function
        self._policy = policy
        self._world = world
        self._failures = 0  # in a row
        self._seen: dict[str, str] = {}  # by query id: the trigger that was told last
        self._announced: set[str] = set()  # ids
        self._look_at = 0.0  # when to ask for progress again

    def events(self) -> Iterator[Event]:
        first = True
        while True:
            began = self._world.monotonic()
            try:
                outcome = yield from self._attempt(first=first)
            except HeadraceError:
                raise
            except Exception as error:
                outcome = self._on_silence(error)
            if isinstance(outcome, Ended):
                yield outcome
                return
            if self._world.monotonic() - began > self._policy.calm_s:
                self._failures = 0
            self._failures += 1
            failed = self._judge(outcome)
            yield failed
            if self._pause(failed.restart_in_s):
                yield Ended(stopped=True)
                return
            first = False

    def _on_silence(self, error: Exception) -> Ended:
        """Spark itself cannot be asked any more; its queries are gone, their checkpoints are not.

        Whoever ends all processes at once, as systemd does, also ends the JVM: that is a stop.
        """
        if self._world.stop_requested():
            return Ended(stopped=True)
        cause = cause_of(error)
        message = f"Spark does not answer any more: {cause}"
        raise PipelineFailed(message, cause, trace_of(error)) from error

    def _judge(self, fault: _Fault) -> Failed:
        cause, trace = cause_of(fault.error), trace_of(fault.error)
        tried = f" after {self._failures - 1} restarts" if self._failures > 1 else ""
        message = f'query "{fault.query}" failed{tried}: {cause}'
        if is_permanent(fault.error):
            message += "; it is not restarted, as it would fail again: correct it first"
            raise PipelineFailed(message, cause, trace) from fault.error
        if self._failures > self._policy.max_restarts:
            raise PipelineFailed(message, cause, trace) from fault.error
        delay_s = self._policy.backoff.delay_s(self._failures, self._world.draw)
        return Failed(fault.query, cause, trace, delay_s)

    def _pause(self, seconds: float) -> bool:
        """Wait; true if a stop was asked for meanwhile."""
        until = self._world.monotonic() + seconds
        while not self._world.stop_requested():
            left = until - self._world.monotonic()
            if left <= 0:
                return False
            self._world.sleep(min(left, self._policy.tick_s))
        return True

    # -- one attempt ------------------------------------------------------------------------------

    def _attempt(self, *, first: bool) -> Generator[Event, None, Ended | _Fault]:
        remove_random_folders(self._policy.checkpoints)
        self._announced.clear()
        call = _Call(self._function, self._spark, self._world.prepare_thread)
        call.thread.join(self._policy.tick_s)
        while call.running:
            if self._world.stop_requested():
                return (yield from self._stop_call(call))
            self._check_names()
            yield from self._tell(name_queries(self._active()))
            call.thread.join(self._policy.tick_s)
        try:
            queries = self._take(call)
        except WrongPipeline:
            self._stop(name_queries(self._active()))
            raise
        except Exception as error:
            self._stop(name_queries(self._active()))
            if first and not _is_query_failure(error):
                cause = cause_of(error)
                raise PipelineFailed(
                    f"the pipeline's function failed: {cause}", cause, trace_of(error)
                ) from error
            return _Fault(self._policy.only_name, error)
        return (yield from self._watch(queries))

    def _take(self, call: _Call) -> list[NamedQuery]:
        """The queries of a call that has returned, all of them started."""
        if call.error is not None and not _is_clean_exit(call.error):
            if isinstance(call.error, Exception):
                raise call.error
            raise PipelineFailed(
                f"the pipeline's function ended with {call.error!r}", repr(call.error), ""
            )
        policy = self._policy
        queries = start_queries(call.result, only_name=policy.only_name, once=policy.once)
        # Queries that were started and not returned are watched all the same.
        queries = queries or name_queries(self._active())
        self._check_names()
        return queries

    def _check_names(self) -> None:
        checkpoints = self._policy.checkpoints
        if random_folders(checkpoints):
            self._stop(name_queries(self._active()))
            remove_random_folders(checkpoints)
            raise nameless_query()

    def _watch(self, queries: list[NamedQuery]) -> Generator[Event, None, Ended | _Fault]:
        running = list(queries)
        while running:
            if self._world.stop_requested():
                yield Stopping(tuple(named.name for named in running))
                self._stop(running)
                yield from self._tell(running, now=True)
                return Ended(stopped=True)
            yield from self._tell(running)
            for named in tuple(running):
                if self._policy.once and named.query.isActive and is_idle(named.query):
                    named.query.stop()
                if named.query.isActive:
                    continue
                running.remove(named)
                yield from self._tell([named], now=True)
                error = named.query.exception()
                if error is not None:
                    self._stop(running)
                    return _Fault(named.name, error)
                yield Finished(named.name)
            if running:
                self._world.sleep(self._policy.tick_s)
        return Ended(stopped=False)

    def _tell(self, queries: Iterable[NamedQuery], *, now: bool = False) -> Iterator[Event]:
        """Announce queries that are new and what they have done since they were asked last."""
        queries = list(queries)
        fresh = [named for named in queries if named.query.id not in self._announced]
        if fresh:
            self._announced.update(named.query.id for named in fresh)
            yield Started(tuple(named.name for named in fresh))
        if not now and self._world.monotonic() < self._look_at:
            return
        self._look_at = self._world.monotonic() + self._policy.progress_every_s
        for name, query in queries:
            since = self._seen.get(query.id, "")
            for report in new_reports(query, since, every=self._policy.every_progress):
                self._seen[query.id] = report["timestamp"]
                progress = parse_progress(name, report)
                if progress.input_rows:
                    self._failures = 0
                yield Progressed(progress, report)

    def _active(self) -> list[Any]:
        return list(self._spark.streams.active)

    def _stop(self, queries: Iterable[NamedQuery]) -> None:
        world = self._world
        stop_between_batches(queries, self._policy.stop_timeout_s, world.sleep, world.monotonic)

    def _stop_call(self, call: _Call) -> Generator[Event, None, Ended]:
        """The function still computes: stop what it has started, then what it waits for."""
        queries = name_queries(self._active())
        yield Stopping(tuple(named.name for named in queries))
        self._stop(queries)
        yield from self._tell(queries, now=True)
        cancel_jobs(self._spark)
        call.thread.join(self._policy.stop_timeout_s)
        return Ended(stopped=True)


def cancel_jobs(spark: Any) -> None:
    """End the batch jobs of a session."""
    try:
        spark.sparkContext.cancelAllJobs()
    except Exception:
        spark.interruptAll()  # a session of Spark Connect has no context


def trace_of(error: BaseException) -> str:
    """Everything that is known about an error."""
    return "".join(traceback.format_exception(error))


def _is_query_failure(error: BaseException) -> bool:
    """Whether it is what Spark's `awaitTermination` raises, in classic Spark or Spark Connect."""
    return type(error).__name__ == "StreamingQueryException"


def _is_clean_exit(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)
