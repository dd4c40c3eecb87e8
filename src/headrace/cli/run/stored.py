"""`headrace run --list`, `--stop` and `--reset`: the runs that have a name, without Spark."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from headrace.cli.options import confirm
from headrace.cli.output import Output, emit, table
from headrace.pipelines.run.folder import RunFolder, RunReport, list_runs

_COLUMNS: Final = ("name", "state", "pipeline", "queries", "last_progress", "lag", "restarts")


def show_runs(root: Path, output: Output) -> None:
    reports = list_runs(root)
    rows = [row_of(report) for report in reports]
    emit(
        [asdict(report) for report in reports],
        output,
        lambda: table(rows, _COLUMNS) if rows else f"no runs in {root}\n",
    )


def row_of(report: RunReport) -> dict[str, Any]:
    """A report as a line of the table; the lag of all queries that tell one."""
    lags = [query["lag"] for query in report.queries if query.get("lag") is not None]
    times = [query["timestamp"] for query in report.queries if query.get("timestamp")]
    return {
        "name": report.name,
        "state": report.state,
        "pipeline": report.pipeline or None,
        "queries": [query.get("query", "?") for query in report.queries] or None,
        "last_progress": max(times, default=None),
        "lag": sum(lags) if lags else None,
        "restarts": report.restarts,
    }


def stop_run(root: Path, name: str, timeout_s: float) -> None:
    RunFolder(root, name).request_stop(timeout_s)
    print(f"{name}: stopped")


def reset_run(root: Path, name: str, *, yes: bool) -> None:
    folder = RunFolder(root, name)
    queries = folder.queries()
    if queries:
        confirm(f"Delete the progress of {', '.join(queries)} in {folder.path}?", yes=yes)
    removed = folder.reset()
    if removed:
        print(f"{name}: the next run starts over; checkpoints removed: {', '.join(removed)}")
    else:
        print(f"{name}: there was no checkpoint to remove")
