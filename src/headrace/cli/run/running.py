"""One run of a pipeline: broker, session and queries come up, are shown, and go down in order."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, cast

from headrace.cli.failures import Failure
from headrace.cli.output import Output
from headrace.cli.run.brokers import Brokers, Origin, choose_brokers
from headrace.cli.run.display import Display, choose_display
from headrace.cli.run.embedded_broker import EmbeddedBroker
from headrace.cli.run.request import RunRequest
from headrace.errors import HeadraceError
from headrace.java.installation import find_java
from headrace.pipelines.run.causes import cause_of
from headrace.pipelines.run.folder import RunFolder, RunReport
from headrace.pipelines.run.loading import (
    Pipeline,
    check_target,
    default_name,
    function_name,
    load_pipeline,
)
from headrace.pipelines.run.supervisor import (
    Ended,
    Event,
    Failed,
    PipelineFailed,
    Policy,
    Progressed,
    Supervisor,
    World,
)
from headrace.pipelines.run_environment import BROKERS_BY, OWN_BROKER, RUN_NAME, SERVERS
from headrace.pipelines.session import (
    activate,
    choose_master,
    end_session,
    is_local,
    is_remote,
    session,
)
from headrace.runtime.variables import variables_set

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKPOINTS: Final = "spark.sql.streaming.checkpointLocation"
_REPORT_EVERY_S: Final = 1.0


def run_pipeline(request: RunRequest) -> None:
    """Run until the pipeline ends or is stopped; raises when it fails."""
    where = Path.cwd()
    check_target(request.pipeline, where)
    folder = RunFolder(request.root, request.name or default_name(request.pipeline))
    master = choose_master(request.master or request.settings.get("spark.master"), os.environ)
    if not is_remote(master):
        find_java(os.environ)
    chosen = choose_brokers(
        request.servers, request.servers_by, own=request.own_broker, is_local=is_local(master)
    )
    watched = request.output is Output.TABLE and sys.stdout.isatty()
    display = choose_display(request.output, watched=watched)
    with contextlib.ExitStack() as running:
        running.enter_context(folder.locked())
        running.callback(folder.remove_unless_used)
        wish = running.enter_context(StopWish(folder).listening())
        if chosen.origin is Origin.OWN:
            wish.broker = running.enter_context(EmbeddedBroker(folder.broker_data))
            chosen = Brokers(wish.broker.bootstrap_servers, Origin.OWN)
        servers = chosen.servers
        # Before Spark starts: its planner and its local workers inherit the environment.
        running.enter_context(variables_set(os.environ, _environment(chosen, folder.name)))
        pipeline = load_pipeline(request.pipeline, where)
        display.note(describe_brokers(chosen, folder.broker_data))
        display.note(f"starting Spark ({master or 'its own master'})")
        config = spark_settings(request, folder, servers)
        spark = _start_spark(request, folder, master, config)
        running.callback(end_session, spark)
        if not request.debug:
            _silence_pyspark()
        wish.listen()  # Spark has put a handler of its own in the place of ours
        _ship(pipeline, master)
        world = World(wish, time.sleep, time.monotonic, random.random, partial(activate, spark))
        policy = _policy(request, config[CHECKPOINTS])
        events = Supervisor(spark, pipeline.function, policy, world).events()
        reporter = _Reporter(folder, _first_report(request, folder.name, master, servers, config))
        _follow(events, wish, folder, reporter, display)


def _start_spark(
    request: RunRequest, folder: RunFolder, master: str | None, config: dict[str, str]
) -> SparkSession:
    try:
        with _spark_output(folder.spark_log, hidden=not request.debug):
            return session(
                folder.name,
                master=master,
                config=config,
                connector=request.connector.value,
                ui=request.ui,
            )
    except HeadraceError:
        raise
    except Exception as fault:
        where = "see above" if request.debug else f"see {folder.spark_log}"
        raise Failure(f"Spark does not start: {cause_of(fault)}", where) from fault


def _environment(chosen: Brokers, name: str) -> dict[str, str]:
    values = {RUN_NAME: name, BROKERS_BY: chosen.origin.value}
    if chosen.servers is not None:
        values[SERVERS] = chosen.servers
        if chosen.origin is Origin.OWN:
            values[OWN_BROKER] = chosen.servers
    return values


def describe_brokers(chosen: Brokers, data: Path) -> str:
    """One line, so that a person sees where records are read and written."""
    match chosen.origin:
        case Origin.OWN:
            return f"broker ready at {chosen.servers}, of this run alone; it keeps {data}"
        case Origin.MACHINE:
            return f"brokers: {chosen.servers}, found on this machine (--broker starts another)"
        case Origin.NONE:
            return "brokers: as the pipeline names them"
        case Origin.OPTION:
            return f"brokers: {chosen.servers}"
        case Origin.ENVIRONMENT:
            return f"brokers: {chosen.servers}, named by {SERVERS}"
        case Origin.PROFILE:
            return f"brokers: {chosen.servers}, named by the profile"


def _first_report(
    request: RunRequest, name: str, master: str | None, servers: str | None, config: dict[str, str]
) -> RunReport:
    return RunReport(
        name=name,
        pipeline=request.pipeline,
        pid=os.getpid(),
        master=master or "",
        bootstrap_servers=servers or "",
        checkpoints=config[CHECKPOINTS],
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


class StopWish:
    """Whether the run shall stop: by a signal, by `--stop`, or because its broker has gone."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._signalled = False
        self.broker: EmbeddedBroker | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[StopWish]:
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
        self.listen()
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def listen(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._signalled and number == signal.SIGINT:
            raise KeyboardInterrupt  # whoever presses Ctrl-C twice does not want to wait
        self._signalled = True

    @property
    def broker_died(self) -> bool:
        return self.broker is not None and not self.broker.running

    def __call__(self) -> bool:
        return self._signalled or self.broker_died or self._folder.stop_requested


class _Reporter:
    """Keeps the run's report up to date, at most once a second unless something happened."""

    def __init__(self, folder: RunFolder, report: RunReport) -> None:
        self._folder = folder
        self._report = report
        self._queries: dict[str, dict[str, Any]] = {}
        self._written_at = 0.0
        folder.write_report(report)

    def take(self, event: Event) -> None:
        due = time.monotonic() - self._written_at >= _REPORT_EVERY_S
        if isinstance(event, Progressed):
            due = due or event.progress.query not in self._queries
            self._queries[event.progress.query] = event.progress._asdict()
            if not due:
                return
        elif isinstance(event, Failed):
            restarts = self._report.restarts + 1
            self._report = replace(self._report, restarts=restarts, cause=event.cause)
        elif isinstance(event, Ended):
            self._report = replace(self._report, state="stopped" if event.stopped else "ended")
        self._write()

    def fail(self, cause: str) -> None:
        self._report = replace(self._report, state="failed", cause=cause)
        self._write()

    def _write(self) -> None:
        self._written_at = time.monotonic()
        queries = list(self._queries.values())
        self._report = replace(self._report, queries=queries)
        self._folder.write_report(self._report)


def _follow(
    events: Iterator[Event],
    wish: StopWish,
    folder: RunFolder,
    reporter: _Reporter,
    display: Display,
) -> None:
    """Show and report what happens until the last event."""
    try:
        with display.drawing():
            for event in events:
                if isinstance(event, Failed):
                    folder.failure.write_text(event.trace, encoding="utf-8")
                reporter.take(event)
                display.show(event)
        if wish.broker is not None and wish.broker_died:
            raise Failure(f"the embedded broker has ended: {wish.broker.last_line}")
    except PipelineFailed as failure:
        reporter.fail(failure.cause)
        folder.failure.write_text(failure.trace, encoding="utf-8")
        raise Failure(str(failure), f"all that Spark said is in {folder.failure}") from failure
    except HeadraceError as failure:
        reporter.fail(str(failure))
        raise


def _policy(request: RunRequest, checkpoints: str) -> Policy:
    return Policy(
        only_name=function_name(request.pipeline),
        once=request.once,
        max_restarts=request.max_restarts,
        stop_timeout_s=request.stop_timeout_s,
        every_progress=request.output is not Output.TABLE,
        checkpoints=Path(checkpoints),
    )


def spark_settings(request: RunRequest, folder: RunFolder, servers: str | None) -> dict[str, str]:
    """What a run asks of Spark; what the user sets wins."""
    settings = {
        CHECKPOINTS: str(folder.checkpoints),
        "spark.sql.streaming.stopTimeout": f"{max(1, round(request.stop_timeout_s))}s",
    }
    if servers is not None:
        settings[f"spark.executorEnv.{SERVERS}"] = servers
    return settings | dict(request.settings)


def _ship(pipeline: Pipeline, master: str | None) -> None:
    """Workers on other machines cannot import the pipeline's own module: they get its functions."""
    if is_local(master):
        return
    from pyspark import cloudpickle

    cast(Any, cloudpickle).register_pickle_by_value(pipeline.module)


def _silence_pyspark() -> None:
    """PySpark logs some errors on its way to raising them, with all of Java's frames."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


@contextlib.contextmanager
def _spark_output(file: Path, *, hidden: bool) -> Iterator[None]:
    """Let the JVM and all that it starts write to a file instead of between our own lines."""
    if not hidden:
        yield
        return
    terminal = os.dup(2)
    try:
        with file.open("ab") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
