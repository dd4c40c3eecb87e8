"""`kafka-dump-log`; that it prints what Kafka's prints is shown by tests/parity."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.kafka_compat import dump_log
from headrace.records.builder import build_batch
from headrace.records.record import Record
from tests.cli.kafka_compat.conftest import Tool

FIRST, SECOND = "00000000000000000000", "00000000000000000002"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two segments, and an index of the first that is right once and wrong once."""
    batches = [
        build_batch([Record(0, 1000, b"k", b"one"), Record(1, 1001, None, None)]),
        build_batch([Record(2, 1002, None, b"three")], base_offset=2),
    ]
    (tmp_path / f"{FIRST}.log").write_bytes(batches[0])
    (tmp_path / f"{SECOND}.log").write_bytes(batches[1])
    entries = (b"\0\0\0\1" + bytes(4), b"\0\0\0\2" + len(batches[0]).to_bytes(4, "big"))
    (tmp_path / f"{FIRST}.index").write_bytes(b"".join(entries))
    return tmp_path


@pytest.mark.spec("admin:CL-14", "admin:LB-18")
def test_files_of_a_shell_and_files_with_commas(tool: Tool, folder: Path) -> None:
    """`--files *.log`, as a shell expands it, and a list with commas say the same."""
    files = sorted(map(str, folder.glob("*.log")))
    expanded = tool(dump_log.run, "--files", *files, "--print-data-log")
    commas = tool(dump_log.run, "--print-data-log", "--files", ",".join(files))
    assert expanded == commas
    lines = expanded.out.splitlines()
    assert [line for line in lines if not line.startswith("baseOffset: ")] == [
        f"Dumping {files[0]}",
        "Log starting offset: 0",
        "| offset: 0 CreateTime: 1000 keySize: 1 valueSize: 3 sequence: -1 headerKeys: [] "
        "key: k payload: one",
        "| offset: 1 CreateTime: 1001 keySize: -1 valueSize: -1 sequence: -1 headerKeys: []",
        f"Dumping {files[1]}",
        "Log starting offset: 2",
        "| offset: 2 CreateTime: 1002 keySize: -1 valueSize: 5 sequence: -1 headerKeys: [] "
        "payload: three",
    ]
    assert (expanded.code, expanded.err) == (0, "")


def test_what_an_index_says_and_its_log_does_not(tool: Tool, folder: Path) -> None:
    """Told at the end, on stderr, and no failure: as Kafka's."""
    path = folder / f"{FIRST}.index"
    done = tool(dump_log.run, "--files", str(path))
    position = (folder / f"{FIRST}.log").stat().st_size
    assert done.out.splitlines()[1:] == [
        "offset: 1 position: 0",
        f"offset: 2 position: {position}",
    ]
    assert done.err == f"Mismatches in :{path}\n  Index offset: 2, log offset: -1\n"
    assert done.code == 0
    quiet = tool(dump_log.run, "--files", str(path), "--verify-index-only")
    assert quiet.out == f"Dumping {path}\n"


def test_a_damaged_log(tool: Tool, folder: Path) -> None:
    """A batch whose CRC is wrong is told as such, a torn one by its bytes; a gap on stderr."""
    path = folder / f"{FIRST}.log"
    good, last = path.read_bytes(), (folder / f"{SECOND}.log").read_bytes()
    later = build_batch([Record(9, 1, None, b"x")], base_offset=9)
    damaged = bytearray(last)
    damaged[-1] ^= 1
    path.write_bytes(good + damaged + later + good[:30])
    shallow = tool(dump_log.run, "--files", str(path))
    valid = [line.rpartition(" ")[2] for line in shallow.out.splitlines() if "isvalid" in line]
    assert valid == ["true", "false", "true"]
    assert f"Found 30 invalid bytes at the end of {path.name}" in shallow.out
    path.write_bytes(good + last + later)
    deep = tool(dump_log.run, "--files", str(path), "--deep-iteration")
    assert deep.err == f"Non-consecutive offsets in {path}\n  2 is followed by 9\n"


def test_logs_that_nobody_here_writes(tool: Tool, folder: Path) -> None:
    """The decoders for a quorum's log and for remote storage are refused by name."""
    done = tool(dump_log.run, "--files", str(folder / "x"), "--cluster-metadata-decoder")
    assert (done.code, done.out) == (1, "")
    assert "--cluster-metadata-decoder is for logs that no broker of headrace writes" in done.err
