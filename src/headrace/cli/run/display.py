"""What a run looks like: a live table, plain lines, or one document per progress for a program.

A table is drawn when a person watches; a log gets a line when something happens and, for each
query, now and then how it goes. Programs read standard output, so everything that is not progress
goes to stderr for them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol

from headrace.cli import yaml
from headrace.cli.output import Output
from headrace.pipelines.run.progress import QueryProgress
from headrace.pipelines.run.supervisor import (
    Ended,
    Event,
    Failed,
    Finished,
    Progressed,
    Started,
    Stopping,
)

if TYPE_CHECKING:
    from rich.table import Table

LINE_EVERY_S: Final = 5.0
_COLUMNS: Final = (
    "QUERY",
    "STATE",
    "BATCH",
    "ROWS/S IN",
    "ROWS/S DONE",
    "LAG",
    "BATCH MS",
    "STATE ROWS",
    "LATE ROWS",
)


class Display(Protocol):
    """Where notes and events go; `drawing` is entered while events come."""

    def note(self, line: str) -> None: ...
    def show(self, event: Event) -> None: ...
    def drawing(self) -> AbstractContextManager[Any]: ...


def choose_display(output: Output, *, watched: bool) -> Display:
    if output is Output.JSON:
        return Documents(lambda fields: json.dumps(fields, ensure_ascii=False) + "\n")
    if output is Output.YAML:
        return Documents(lambda fields: yaml.dump([fields]))
    return LiveTable() if watched else Lines(time.monotonic)


class Documents:
    """One document per progress on standard output."""

    def __init__(self, dump: Callable[[dict[str, Any]], str]) -> None:
        self._dump = dump

    def note(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    def show(self, event: Event) -> None:
        if isinstance(event, Progressed):
            sys.stdout.write(self._dump(event.progress._asdict()))
            sys.stdout.flush()
        else:
            self.note(describe(event))

    def drawing(self) -> AbstractContextManager[Any]:
        return nullcontext()


class Lines:
    """For a log: every event as a line, the progress of a query at most every few seconds.

    Rows that were dropped are told at once.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._told_at: dict[str, float] = {}

    def note(self, line: str) -> None:
        print(line, flush=True)

    def show(self, event: Event) -> None:
        if isinstance(event, Progressed):
            now = self._monotonic()
            query = event.progress.query
            is_due = now - self._told_at.get(query, -LINE_EVERY_S) >= LINE_EVERY_S
            if not (is_due or event.progress.late_rows):
                return
            self._told_at[query] = now
        self.note(describe(event))

    def drawing(self) -> AbstractContextManager[Any]:
        return nullcontext()


class LiveTable:
    """For a person: one row per query, redrawn in place, and notes above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(highlight=False)
        self._states: dict[str, str] = {}
        self._progress: dict[str, QueryProgress] = {}
        self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=2)

    def note(self, line: str) -> None:
        self._console.print(line, markup=False)

    def show(self, event: Event) -> None:
        if isinstance(event, Progressed):
            self._progress[event.progress.query] = event.progress
            return
        if isinstance(event, Started):
            self._states.update(dict.fromkeys(event.queries, "running"))
        elif isinstance(event, Finished):
            self._states[event.query] = "finished"
        elif isinstance(event, Stopping):
            self._states.update(dict.fromkeys(event.queries, "stopping"))
        elif isinstance(event, Failed):
            self._states.update(dict.fromkeys(self._states, "restarting"))
        elif isinstance(event, Ended) and event.stopped:
            running = [query for query, state in self._states.items() if state != "finished"]
            self._states.update(dict.fromkeys(running, "stopped"))
        if isinstance(event, Failed):
            self.note(describe(event))

    def drawing(self) -> AbstractContextManager[Any]:
        return self._live

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, caption_justify="left")
        for column in _COLUMNS:
            table.add_column(column, justify="left" if column in ("QUERY", "STATE") else "right")
        states, progress = dict(self._states), dict(self._progress)  # a thread of its own draws
        for query, state in states.items():
            table.add_row(query, state, *_cells(progress.get(query)))
        observed = [
            f"{query}: {line}"
            for query in states
            if query in progress
            for line in _observed(progress[query])
        ]
        table.caption = Text("\n".join(observed)) if observed else None
        return table


def _cells(progress: QueryProgress | None) -> list[str]:
    if progress is None:
        return ["-"] * (len(_COLUMNS) - 2)
    return [
        f"{progress.batch_id:,}",
        f"{progress.input_rows_per_s:,.0f}",
        f"{progress.processed_rows_per_s:,.0f}",
        _if_told(progress.lag),
        f"{progress.batch_ms:,}",
        _if_told(progress.state_rows),
        _if_told(progress.late_rows),
    ]


def _if_told(figure: int | None) -> str:
    return "-" if figure is None else f"{figure:,}"


def _observed(progress: QueryProgress) -> list[str]:
    """What the pipeline computes about itself, a line for each `observe`."""
    return [
        f"{name}: " + ", ".join(f"{key} {_figure(value)}" for key, value in figures.items())
        for name, figures in progress.observed.items()
    ]


def _figure(value: Any) -> str:
    match value:
        case bool() | str():
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.1f}"
        case _:
            return json.dumps(value, ensure_ascii=False)


def describe(event: Event) -> str:
    """The event as one line."""
    match event:
        case Started(queries):
            return f"running: {', '.join(queries)}"
        case Progressed(progress):
            return _describe_progress(progress)
        case Finished(query):
            return f"{query}: finished"
        case Failed(query, cause, _, restart_in_s):
            return f"{query}: failed: {cause}; the pipeline restarts in {restart_in_s:.1f} s"
        case Stopping(queries):
            return f"stopping: {', '.join(queries)}" if queries else "stopping"
        case Ended(stopped):
            return "stopped" if stopped else "ended"


def _describe_progress(progress: QueryProgress) -> str:
    parts = [
        f"{progress.query}: batch {progress.batch_id}",
        f"{progress.input_rows:,} rows",
        f"{progress.input_rows_per_s:,.0f} rows/s in",
        f"{progress.processed_rows_per_s:,.0f} rows/s done",
        f"{progress.batch_ms:,} ms",
    ]
    if progress.lag is not None:
        parts.append(f"lag {progress.lag:,}")
    if progress.state_rows is not None:
        parts.append(f"{progress.state_rows:,} state rows")
    if progress.late_rows:
        parts.append(f"{progress.late_rows:,} late rows dropped")
    return ", ".join([*parts, *_observed(progress)])
