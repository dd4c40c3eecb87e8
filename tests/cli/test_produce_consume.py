"""`headrace produce` and `headrace consume` against a live broker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.testing import Broker
from tests.cli.conftest import Headrace


def test_lines_come_back_in_order(live: Headrace, topic: str) -> None:
    """One record per line, one line per record."""
    lines = b"".join(b"%d\n" % number for number in range(5000))
    written = live("produce", "-t", topic, stdin=lines)
    assert written.code == 0
    assert written.out == ""
    assert written.err.startswith(f"5000 records written to {topic} in ")
    assert written.err.endswith("0 failed\n")
    assert live("consume", "-t", topic).out.encode() == lines


def test_nothing_in_nothing_out(live: Headrace, topic: str) -> None:
    """An empty topic is read at once."""
    assert live("produce", "-t", topic).code == 0
    assert live("consume", "-t", topic) == (0, "", "")


def test_everything_of_a_record_survives_the_pipe(live: Headrace, topic: str) -> None:
    """consume -o json | produce --format json copies keys, nulls, headers and timestamps."""
    options = ["-K", ":", "--null-marker", "NULL", "-H", "trace=1", "-H", "unit=é"]
    lines = "k:café\nNULL:x\ngone:NULL\n:\n".encode()
    written = live("produce", "-t", topic, *options, "--timestamp", "@1700000000000", stdin=lines)
    assert written.code == 0
    first = live("consume", "-t", topic, "-o", "json").out
    assert live("produce", "-t", topic, "--format", "json", stdin=first.encode()).code == 0
    rows = [
        json.loads(line) for line in live("consume", "-t", topic, "-o", "json").out.splitlines()
    ]
    assert [(row["key"], row["value"]) for row in rows[:4]] == [
        ("k", "café"),
        (None, "x"),
        ("gone", None),
        ("", ""),
    ]
    assert [row["offset"] for row in rows] == list(range(8))
    for original, copy in zip(rows[:4], rows[4:], strict=True):
        assert original | {"offset": copy["offset"]} == copy
    assert rows[0]["headers"] == [{"key": "trace", "value": "1"}, {"key": "unit", "value": "é"}]
    assert rows[0]["timestamp"] == 1_700_000_000_000
    assert rows[0]["timestamp_type"] == "CreateTime"


def test_bytes_survive_as_hex_and_base64(live: Headrace, topic: str) -> None:
    """Values that are no text can be written and read."""
    live("produce", "-t", topic, "--value-format", "hex", stdin=b"00ff0a\n")
    assert live("consume", "-t", topic, "--value-format", "hex").out == "00ff0a\n"
    assert live("consume", "-t", topic, "--value-format", "base64").out == "AP8K\n"


def test_a_format_string_prints_what_it_names(live: Headrace, topic: str) -> None:
    """Fields and escapes, no line end of its own."""
    live("produce", "-t", topic, "-k", "key", "--timestamp", "2026-05-01", stdin=b"a\nb\n")
    shown = live("consume", "-t", topic, "--format", "%t[%p]@%o %k=%v %d\\0")
    assert shown.out == (
        f"{topic}[0]@0 key=a 2026-05-01T00:00:00.000Z\0"
        f"{topic}[0]@1 key=b 2026-05-01T00:00:00.000Z\0"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--from", "7"], "7 8 9"),
        (["--from", "-2"], "8 9"),
        (["--from", "end"], ""),
        (["--from", "3", "--to", "5"], "3 4"),
        (["--to", "2"], "0 1"),
        (["--from", "5", "--to", "5"], ""),
        (["--from", "8", "--to", "3"], ""),
        (["--from", "0", "--to", "999"], "0 1 2 3 4 5 6 7 8 9"),
        (["-n", "3"], "0 1 2"),
        (["-n", "1", "--from", "-1"], "9"),
        (["--from", "@1007"], "7 8 9"),
        (["--from", "@1003", "--to", "@1005"], "3 4"),
        (["--from", "1970-01-01T00:00:01.008Z"], "8 9"),
        (["--from", "@5000"], ""),
        (["--from", "8", "--to", "@5000"], "8 9"),
    ],
)
def test_the_range_is_what_was_asked_for(
    live: Headrace, topic: str, words: list[str], expected: str
) -> None:
    """Ten records with the timestamps 1000 to 1009, read by offset, tail, number and time."""
    lines = b"".join(b'{"value":"%d","timestamp":%d}\n' % (n, 1000 + n) for n in range(10))
    # Without this the broker would delete records of 1970 at its next look.
    live("topic", "alter", topic, "-c", "retention.ms=-1")
    assert live("produce", "-t", topic, "--format", "json", stdin=lines).code == 0
    assert " ".join(live("consume", "-t", topic, *words).out.split()) == expected


def test_partitions_are_chosen_when_writing_and_reading(
    live: Headrace, new_topic: Callable[[int], str]
) -> None:
    """--partition on both sides; without it all are read, each in order."""
    name = new_topic(3)
    for partition in range(3):
        lines = b"".join(b"%d-%d\n" % (partition, number) for number in range(100))
        live("produce", "-t", name, "-p", str(partition), stdin=lines)
    two = live("consume", "-t", name, "-p", "2", "--from", "-2").out
    assert two == "2-98\n2-99\n"
    everything = live("consume", "-t", name).out.split()
    for partition in range(3):
        mine = [line for line in everything if line.startswith(f"{partition}-")]
        assert mine == [f"{partition}-{number}" for number in range(100)]
    missing = live("consume", "-t", name, "-p", "3")
    assert missing.code == 1
    assert "has no partition 3; it has 0 to 2" in missing.err


def test_keys_go_where_the_java_client_sends_them(
    live: Headrace, new_topic: Callable[[int], str]
) -> None:
    """murmur2 of the key's bytes: the partitions that a Java producer printed for these names."""
    name = new_topic(3)
    expected = {"ABC": 0, "GOOG": 0, "IBM": 2, "INEL": 0, "UBER": 2, "SUN": 2}
    lines = "".join(f"{key}:x\n" for key in expected).encode()
    assert live("produce", name, "-K", ":", stdin=lines).code == 0
    shown = live("consume", name, "--format", "%k %p\\n").out.splitlines()
    assert {line.split()[0]: int(line.split()[1]) for line in shown} == expected


def test_a_failed_record_is_counted_and_fails_the_command(live: Headrace, topic: str) -> None:
    """Exit code 1, the number, and why; what could be written was written."""
    lines = b'{"value":"a","partition":0}\n{"value":"b","partition":9}\n{"value":"c"}\n'
    outcome = live("produce", "-t", topic, "--format", "json", stdin=lines)
    assert outcome.code == 1
    summary, reason = outcome.err.splitlines()
    assert summary.startswith("2 records written")
    assert summary.endswith("1 failed")
    assert "Unknown partition" in reason
    assert live("consume", "-t", topic).out == "a\nc\n"


def test_a_record_that_the_broker_refuses_fails_the_command(live: Headrace, topic: str) -> None:
    """Failures that arrive with the last answers count too."""
    live("topic", "alter", topic, "-c", "max.message.bytes=1000")
    outcome = live("produce", "-t", topic, "-o", "json", stdin=b"x" * 5000)
    assert outcome.code == 1
    summary = json.loads(outcome.out)
    assert (summary["written"], summary["failed"]) == (0, 1)
    assert "raise max.message.bytes" in outcome.err


def test_a_line_that_cannot_be_read_stops_after_those_before_it(live: Headrace, topic: str) -> None:
    """The line's number is told; earlier lines are in the topic."""
    outcome = live("produce", "-t", topic, "--format", "json", stdin=b'{"value":"a"}\n{\n')
    assert outcome.code == 1
    assert "standard input line 2" in outcome.err
    assert live("consume", "-t", topic).out == "a\n"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_and_idempotence_work(live: Headrace, topic: str, codec: str) -> None:
    """--compression and --idempotent reach the batches on disk."""
    lines = b"".join(b"line %d of many that look alike\n" % number for number in range(2000))
    words = ["-z", codec, "--idempotent"]
    assert live("produce", "-t", topic, *words, stdin=lines).code == 0
    assert live("consume", "-t", topic).out.encode() == lines


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acks_works(live: Headrace, topic: str, acks: str) -> None:
    """Also without any answer of the broker."""
    assert live("produce", "-t", topic, "--acks", acks, stdin=b"a\nb\n").code == 0


def test_files_are_read_and_topics_created_on_request(live: Headrace, tmp_path: Path) -> None:
    """A typo never becomes a topic by accident, --create-topic is needed."""
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    name = f"created-{os.urandom(6).hex()}"
    assert live("produce", "-t", name, str(file)).code == 1
    assert live("produce", "-t", name, "--create-topic", str(file), str(file)).code == 0
    assert live("consume", "-t", name).out == "one\ntwo\none\ntwo\n"


def test_the_topic_may_be_the_first_word(live: Headrace, topic: str, tmp_path: Path) -> None:
    """What follows it are files."""
    file = tmp_path / "lines.txt"
    file.write_text("three\n")
    assert live("produce", topic, stdin=b"one\ntwo\n").code == 0
    assert live("produce", topic, str(file)).code == 0
    assert live("consume", topic, "--from", "1").out == "two\nthree\n"


def test_yaml_and_tables_show_records(live: Headrace, topic: str) -> None:
    """One document, or one line, per record."""
    live("produce", "-t", topic, "-k", "k", "--timestamp", "@1700000000000", stdin=b"v\n")
    document = live("consume", "-t", topic, "-o", "yaml").out
    assert document.startswith(f"---\ntopic: {topic}\npartition: 0\noffset: 0\n")
    head, row = live("consume", "-t", topic, "-o", "table").out.splitlines()
    assert head.split() == ["PARTITION", "OFFSET", "TIMESTAMP", "KEY", "VALUE"]
    assert row.split() == ["0", "0", "2023-11-14T22:13:20.000Z", "k", "v"]


def start(broker: Broker, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "headrace", *words, "-b", broker.bootstrap_servers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_follow_waits_for_new_records_until_interrupted(
    live: Headrace, topic: str, headrace_broker: Broker
) -> None:
    """New lines appear as they are written; Ctrl-C tells the count and is no failure."""
    live("produce", "-t", topic, stdin=b"old\n")
    with start(headrace_broker, "consume", "-t", topic, "--follow") as process:
        killer = threading.Timer(60, process.kill)
        killer.start()
        assert process.stdout is not None
        assert process.stdout.readline() == b"old\n"
        live("produce", "-t", topic, stdin=b"new\n")
        assert process.stdout.readline() == b"new\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        killer.cancel()
    assert process.returncode == 0
    assert err.decode() == f"2 records read from {topic}\n"


def test_a_reader_that_has_seen_enough_is_no_failure(
    live: Headrace, topic: str, headrace_broker: Broker
) -> None:
    """`| head -1` ends the command in silence."""
    live("produce", "-t", topic, stdin=b"x" * 100 + b"\n" + b"line\n" * 100_000)
    with start(headrace_broker, "consume", "-t", topic) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        assert process.wait(60) == 0
    assert err == b""


@pytest.mark.parametrize("form", ["line", "json"])
def test_a_partition_that_no_request_can_hold_is_reported(
    live: Headrace, topic: str, form: str
) -> None:
    """By its number, wherever it was given; it is not a bug."""
    line = b'{"value": "a", "partition": 99999999999}' if form == "json" else b"a"
    words = ("--format", form) if form == "json" else ("--partition", "99999999999")
    outcome = live("produce", topic, *words, stdin=line)
    assert outcome.code == 1
    assert "partition 99999999999" in outcome.err
    assert "headrace topic describe" in outcome.err
    assert "bug" not in outcome.err
