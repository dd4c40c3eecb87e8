"""What a run shows to a person, to a log and to a program."""

from __future__ import annotations

import json

import pytest

from headrace.cli.output import Output
from headrace.cli.run.display import Display, Lines, LiveTable, choose_display
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

PROGRESS = QueryProgress(
    "q",
    12,
    "2026-11-16T04:38:00.123Z",
    1000,
    500.4,
    8130.0,
    1123,
    7,
    402,
    3,
    {"latency": {"worst_ms": 1250, "average_ms": 40.25, "slow": ["[b]", 2]}},
)
STORY: list[Event] = [
    Started(("q", "r")),
    Progressed(PROGRESS, {}),
    Finished("r"),
    Failed("q", "ValueError: poison", "trace", 1.5),
    Stopping(("q",)),
    Ended(stopped=True),
]


def show(display: Display) -> None:
    display.note("broker ready at 127.0.0.1:1")
    with display.drawing():
        for event in STORY:
            display.show(event)


def test_a_log_gets_a_line_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody watches a log, so nothing is redrawn."""
    show(choose_display(Output.TABLE, watched=False))
    assert capsys.readouterr().out.splitlines() == [
        "broker ready at 127.0.0.1:1",
        "running: q, r",
        "q: batch 12, 1,000 rows, 500 rows/s in, 8,130 rows/s done, 1,123 ms, lag 7, "
        "402 state rows, 3 late rows dropped, "
        'latency: worst_ms 1,250, average_ms 40.2, slow ["[b]", 2]',
        "r: finished",
        "q: failed: ValueError: poison; the pipeline restarts in 1.5 s",
        "stopping: q",
        "stopped",
    ]


def test_a_log_is_not_flooded(capsys: pytest.CaptureFixture[str]) -> None:
    """Each query has a line every five seconds, the first one at once, and one for lost rows."""
    now = 100.0
    lines = Lines(lambda: now)
    for second in range(15):
        now = 100.0 + second
        late_rows = 2 if second == 7 else 0
        lines.show(Progressed(PROGRESS._replace(batch_id=second, late_rows=late_rows), {}))
    lines.show(Progressed(PROGRESS._replace(query="other", batch_id=99), {}))
    told = [line.split(",")[0] for line in capsys.readouterr().out.splitlines()]
    assert told == ["q: batch 0", "q: batch 5", "q: batch 7", "q: batch 12", "other: batch 99"]


def test_a_program_gets_progress_alone_on_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One JSON object to a line; everything else is for people, on stderr."""
    show(choose_display(Output.JSON, watched=True))
    captured = capsys.readouterr()
    assert json.loads(captured.out) == PROGRESS._asdict()
    assert captured.out.count("\n") == 1
    assert len(captured.err.splitlines()) == len(STORY)


def test_yaml_is_one_growing_list(capsys: pytest.CaptureFixture[str]) -> None:
    """Each progress is an item, so that the whole output is a document at any time."""
    show(choose_display(Output.YAML, watched=False))
    out = capsys.readouterr().out
    assert out.startswith("- query: q\n  batch_id: 12\n")


def test_a_person_sees_one_row_for_each_query(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rates, lag, batch time, rows kept and dropped; a query that told nothing yet has dashes."""
    monkeypatch.setenv("COLUMNS", "120")
    table = LiveTable()
    show(table)
    lines = capsys.readouterr().out.splitlines()
    words = [line.split() for line in lines]
    assert ["q", "stopped", "12", "500", "8,130", "7", "1,123", "402", "3"] in words
    assert ["r", "stopped", *"-------"] in words
    observed = 'q: latency: worst_ms 1,250, average_ms 40.2, slow ["[b]", 2]'
    assert observed in (line.strip() for line in lines)
