"""The lines of a file that grows, whatever ends them and wherever it is cut."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.connectors.file_source import FileSourceSettings, FileStreamSource
from headrace.pipelines.connect.faults import ConnectException
from tests.generated import examples
from tests.pipelines.connect.connectors.jdbc.harness import Context, Kept

PIECES = st.sampled_from([b"a", "ü".encode(), b"\xff", b"\n", b"\r", b"\r\n", b"", b"long " * 9])
ENDS = re.compile(rb"\r\n|\n|\r")


def opened(path: Path, kept: Kept, rows: int) -> FileStreamSource:
    task = FileStreamSource()
    task.context = Context()
    told = {"file": str(path), "topic": "t", "batch.size": str(rows)}
    task.open(FileSourceSettings.of(told), kept)
    return task


@given(
    st.lists(st.lists(PIECES).map(b"".join), max_size=6),
    st.integers(1, 4),
    st.sets(st.integers(0, 5)),
)
@settings(max_examples=examples(150), deadline=None)
def test_every_line_comes_once(
    tmp_path_factory: pytest.TempPathFactory, writes: list[bytes], rows: int, restarts: set[int]
) -> None:
    """Also if the task begins anew between two writes: it goes on behind what it has sent."""
    path = tmp_path_factory.mktemp("file") / "lines"
    path.touch()
    kept = Kept()
    task = opened(path, kept, rows)
    found: list[object] = []
    for number, written in enumerate((*writes, b"\n")):
        with path.open("ab") as file:
            file.write(written)
        if number in restarts:
            task.close()
            task = opened(path, kept, rows)
        for batch in task.poll():
            assert 0 < len(batch) <= rows
            found += batch.value.to_values()
            kept.keep(batch)
    task.close()
    *whole, last = ENDS.split(b"".join((*writes, b"\n")))
    assert last == b""
    assert found == [line.decode(errors="replace") for line in whole]


def test_the_file_may_come_later(tmp_path: Path) -> None:
    task = opened(tmp_path / "late", Kept(), 10)
    assert list(task.poll()) == []
    (tmp_path / "late").write_bytes(b"here\n")
    (batch,) = task.poll()
    assert batch.value.to_values() == ["here"]
    task.close()


def test_a_line_that_no_record_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "endless"
    with path.open("wb") as file:
        file.truncate(300 << 20)
    task = opened(path, Kept(), 10)
    with pytest.raises(ConnectException, match="a line of more than 128 MiB at byte 0"):
        any(list(task.poll()) for _ in range(20))
    task.close()
