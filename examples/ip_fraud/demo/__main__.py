"""Brings everything up, in order, and takes it down again; exit code 0 only if all is right."""

from __future__ import annotations

import argparse
import io
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException

from examples.ip_fraud.demo.checking import Findings, check, table_rows
from examples.ip_fraud.demo.plot import draw
from examples.ip_fraud.demo.queries import Queries
from examples.ip_fraud.demo.results import Results
from examples.ip_fraud.demo.watching import Watcher
from examples.ip_fraud.generator import arguments_of
from examples.ip_fraud.on_spark import queries
from examples.ip_fraud.traffic import Plan, truth_of
from examples.round_trip import round_trip
from examples.topics import broker, command_line, provide
from headrace.errors import HeadraceError
from headrace.java.installation import find_java
from headrace.pipelines.run.causes import cause_of
from headrace.pipelines.session import end_session, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC: Final = "iprecord"
PARTITIONS: Final = 4
TICK_MS: Final = 500
TRIGGER: Final = "1 second"
RETURNING: Final = 0.25
SETTLE_S: Final = 300.0
_ROUND_TRIP: Final = 1_000_000


def plan_of(seconds: int, rate: int, seed: int) -> Plan:
    """Traffic that begins now: so many records a second, in ticks of half a second."""
    return Plan(
        seed=seed,
        ticks=seconds * 1_000 // TICK_MS,
        records_per_tick=max(1, rate * TICK_MS // 1_000),
        delay_ms=0,
        period_ms=TICK_MS,
        begin_ms=time.time_ns() // 1_000_000,
        returning=RETURNING,
    )


@contextmanager
def running_spark(folder: Path, log: Path) -> Iterator[SparkSession]:
    """A session with all its files in the folder, and all that it says in the log."""
    with errors_to(log):
        spark = session(
            "ip-fraud-demo",
            config={
                "spark.sql.warehouse.dir": folder / "warehouse",
                "spark.sql.streaming.checkpointLocation": folder / "checkpoints",
                "spark.local.dir": folder / "local",
            },
        )
    try:
        yield spark
    except PySparkException as fault:
        # While the session lives: an error of Spark's asks the JVM for its own text.
        raise HeadraceError(f"{cause_of(fault)}; all that Spark said is in {log}") from None
    finally:
        end_session(spark)


@contextmanager
def errors_to(log: Path) -> Iterator[None]:
    """Processes that are started in this block write their errors to a file, for good."""
    terminal = os.dup(2)
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def watch_fraud(folder: Path, servers: str, asked: argparse.Namespace) -> Findings:
    """The pipeline and its traffic, until Spark has caught up with all of it."""
    began = time.monotonic()
    provide(TOPIC, partitions=PARTITIONS)
    with ExitStack() as running:
        log = asked.output / "spark.log"
        spark = running.enter_context(running_spark(folder, log))
        print(f"Spark {spark.version} is there after {time.monotonic() - began:.1f} s")
        writers = [each.trigger(processingTime=TRIGGER) for each in queries(spark, TOPIC)]
        started = Queries(writers, log)
        plan = plan_of(asked.seconds, asked.rate, asked.seed)
        print(
            f"three queries started after {time.monotonic() - began:.1f} s; {asked.rate:,} records "
            f"a second come for {asked.seconds} s (seed {asked.seed})"
        )
        command = [sys.executable, "-m", "examples.ip_fraud.generator"]
        command += arguments_of(plan, servers, TOPIC)
        generator = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        running.callback(generator.kill)
        truth = truth_of(plan)
        results = running.enter_context(Results(servers))
        Watcher(started, results, truth.records).watch(asked.seconds + SETTLE_S)
        _, said = generator.communicate(timeout=SETTLE_S)
        if generator.returncode:
            raise HeadraceError(f"the generator failed: {said.strip().splitlines()[-1]}")
        started.finish()
        results.read_rest()
        return Findings(plan, truth, results.figures, table_rows(spark))


def run(asked: argparse.Namespace) -> int:
    find_java(os.environ)  # before anything else: without it there is no second act
    asked.output.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="headrace-demo-") as name, broker(asked.servers) as servers:
        print(f"broker ready on {servers}")
        if asked.records:
            round_trip(servers, asked.records, PARTITIONS, 100)
        findings = watch_fraud(Path(name), servers, asked)
    checks = check(findings)
    for found in checks:
        print(f"{'ok  ' if found.right else 'WRONG'} {found.text}")
    picture = draw(findings, asked.output / "ip-fraud.png")
    print(f"plot: {picture}")
    return 0 if all(found.right for found in checks) else 1


def main() -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # so that a pipe shows progress too
    parser = command_line("The main job, end to end.")
    parser.add_argument("--records", type=int, default=_ROUND_TRIP, help="of the first act")
    parser.add_argument("--seconds", type=int, default=30, help="of traffic")
    parser.add_argument("--rate", type=int, default=10_000, help="records a second")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="for plot and log")
    try:
        return run(parser.parse_args())
    except HeadraceError as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
