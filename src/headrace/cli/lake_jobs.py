"""Jobs of the lake in the foreground: settings from a file, a line for each unit, an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headrace.cli.failures import FAILED, Failure
from headrace.cli.lines import counted, say, warn
from headrace.cli.small_files import read_properties

if TYPE_CHECKING:
    from headrace.pipelines.lake.camus.units import Outcome as Copied
    from headrace.pipelines.lake.gobblin.stages import Outcome as Worked
    from headrace.pipelines.lake.jobs.running import Runner


def camus(path: str, over: Mapping[str, str], *, local: bool, master: str | None) -> int:
    """Run a job of Camus once."""
    with explained():
        from headrace.pipelines.lake.camus.job import run_job
        from headrace.pipelines.lake.camus.settings import read_settings
        from headrace.runtime.clock import SystemClock

        settings = read_settings(read_properties(path, failure=Failure) | dict(over), path)
        for remark in settings.remarks:
            warn(remark)
        with _runner(settings.name, local, master) as runner:
            report = run_job(settings, runner, SystemClock(), _tell_copied)
    if not report.outcomes:
        say("nothing new to copy")
        return 0
    messages = sum(each.messages for each in report.outcomes)
    skipped = sum(each.skipped for each in report.outcomes)
    say(
        f"run {report.run}: {counted(messages, 'message')} copied, {skipped} skipped, "
        f"{len(report.failed)} of {counted(len(report.outcomes), 'partition')} failed"
    )
    return FAILED if report.failed else 0


def gobblin(path: str, over: Mapping[str, str], *, local: bool, master: str | None) -> int:
    """Run a job of Gobblin once."""
    with explained():
        from headrace.pipelines.lake.gobblin.job import run_job
        from headrace.pipelines.lake.gobblin.settings import read_settings
        from headrace.runtime.clock import SystemClock

        settings = read_settings(read_properties(path, failure=Failure) | dict(over), path)
        for remark in settings.remarks:
            warn(remark)
        with _runner(settings.name, local, master) as runner:
            report = run_job(settings, runner, SystemClock(), _tell_worked)
    if not report.outcomes:
        say("nothing new to extract")
        return 0
    say(
        f"{report.job_id}: {counted(report.published, 'file')} published, "
        f"{len(report.failed)} of {counted(len(report.outcomes), 'work unit')} failed"
    )
    return FAILED if report.failed else 0


@contextmanager
def explained() -> Iterator[None]:
    """What is not installed, and what file systems complain about, as failures with a remedy."""
    try:
        from headrace.pipelines.lake.faults import LakeFault
    except ModuleNotFoundError as missing:
        raise needs_extra(missing) from missing
    try:
        yield
    except ModuleNotFoundError as missing:
        raise needs_extra(missing) from missing
    except LakeFault as fault:
        raise Failure(str(fault)) from fault


def needs_extra(missing: ModuleNotFoundError) -> Failure:
    """What to tell a user who has installed Headrace without the lake."""
    return Failure(
        f"the lake needs the package {missing.name}",
        'pip install "headrace[lake]", with Spark "headrace[lake,spark]"; in a clone: '
        "make setup-dev",
    )


@contextmanager
def _runner(name: str, local: bool, master: str | None) -> Iterator[Runner]:
    from headrace.pipelines.lake.jobs.running import in_threads, on_spark

    if local:
        yield in_threads
        return
    from headrace.pipelines.session import end_session, session

    spark = session(name, master=master)
    try:
        yield on_spark(spark)
    finally:
        end_session(spark)


def _tell_copied(outcome: Copied) -> None:
    place = f"{outcome.unit.topic}-{outcome.unit.partition}"
    if outcome.fault is not None:
        warn(f"{place} has failed and stays at offset {outcome.unit.start}: {outcome.fault}")
    else:
        say(
            f"{place}: {counted(outcome.messages, 'message')}, {outcome.skipped} skipped, "
            f"next offset {outcome.next_offset}"
        )


def _tell_worked(outcome: Worked) -> None:
    if outcome.fault is not None:
        warn(f"work unit {outcome.unit.name} has failed: {outcome.fault}")
    else:
        counts = outcome.counts
        say(
            f"{outcome.unit.name}: {counted(counts.read, 'record')} read, {counts.written} "
            f"written, {counts.failed_rows} to the error file"
        )
