"""The pipeline while it runs: a live table for a person, now and then a line for a log."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Final

from examples.ip_fraud.demo.queries import Queries
from examples.ip_fraud.demo.results import Figures, Results
from examples.ip_fraud.rules import EXPECTED_SHARE
from headrace.pipelines.run.progress import QueryProgress, parse_progress

if TYPE_CHECKING:
    from rich.table import Table

LINE_EVERY_S: Final = 3.0
TOP: Final = 5


class Watcher:
    """Follows the queries until their results account for every record."""

    def __init__(self, queries: Queries, results: Results, expected_records: int) -> None:
        self._queries = queries
        self._results = results
        self._expected = expected_records
        self._told_at = 0.0

    def watch(self, timeout_s: float) -> None:
        """Returns when all records are counted, or after the time-out: the checks tell the rest."""
        until = time.monotonic() + timeout_s
        if not sys.stdout.isatty():
            while not self._done() and time.monotonic() < until:
                self._results.read(0.5)
                self._tell()
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(highlight=False)
        with Live(console=console, get_renderable=self._table, refresh_per_second=2):
            while not self._done() and time.monotonic() < until:
                self._results.read(0.5)

    def _done(self) -> bool:
        self._queries.restart_failed()
        figures = self._results.figures
        counted = figures.fraud_records
        return (
            figures.records >= self._expected
            and figures.fraud.total() >= counted
            and sum(figures.hits.values()) >= counted
        )

    def _tell(self) -> None:
        now = time.monotonic()
        if now - self._told_at < LINE_EVERY_S:
            return
        figures = self._results.figures
        if not figures.records:
            if not self._told_at:
                print("waiting for the first batch")
                self._told_at = now
            return
        self._told_at = now
        lag = sum(progress.lag or 0 for progress in self._progress())
        print(
            f"{figures.records:,} records, {figures.fraud_records:,} fraud "
            f"({share_text(figures)}), {len(figures.hits):,} addresses, lag {lag:,}"
        )

    def _progress(self) -> list[QueryProgress]:
        reports = [(query.name, query.lastProgress) for query in self._queries]
        return [parse_progress(name, report) for name, report in reports if report is not None]

    def _table(self) -> Table:
        from rich import box
        from rich.table import Table

        figures = self._results.figures
        table = Table(
            box=box.SIMPLE_HEAD,
            title=f"{figures.records:,} of {self._expected:,} records, "
            f"{figures.fraud_records:,} fraud, {share_text(figures)} "
            f"(expected {EXPECTED_SHARE:.2%})"
            if figures.records
            else "waiting for the first batch",
        )
        for name in ("QUERY", "BATCH", "ROWS/S", "BATCH MS", "LAG", "STATE ROWS", "", "MOST HITS"):
            table.add_column(name, justify="left" if name in ("QUERY", "MOST HITS") else "right")
        progress = [_cells(told) for told in self._progress()]
        most = sorted(figures.hits.items(), key=lambda item: -item[1])[:TOP]
        top = [f"{hits:4}  {address}" for address, hits in most]
        for number in range(max(len(progress), len(top), TOP)):
            cells = progress[number] if number < len(progress) else [""] * 6
            table.add_row(*cells, "", top[number] if number < len(top) else "")
        return table


def _cells(told: QueryProgress) -> list[str]:
    return [
        told.query,
        f"{told.batch_id:,}",
        f"{told.processed_rows_per_s:,.0f}",
        f"{told.batch_ms:,}",
        "-" if told.lag is None else f"{told.lag:,}",
        "-" if told.state_rows is None else f"{told.state_rows:,}",
    ]


def share_text(figures: Figures) -> str:
    return f"{figures.fraud_records / figures.records:.2%}" if figures.records else "-"
