"""Checks of the broker's files: DumpLogSegments reads what the broker wrote and finds no fault."""

from __future__ import annotations

import re
from pathlib import Path

from tests.suites.java.tools import Declined, Tools, check
from tests.suites.java.transactions import copy

MOST_FILES = 40
COMPLAINTS = (
    *("isvalid: false", "Mismatches in", "Non-consecutive offsets", "invalid bytes"),
    *("Found timestamp mismatch", "Found out of order", "Exception", "Indexed offset"),
)


def data_dir(tools: Tools) -> Path:
    if tools.target.data_dir is None:
        raise Declined("the broker's folder is not known")
    return tools.target.data_dir


def segments(tools: Tools, suffix: str, *, rolled: bool = False) -> list[Path]:
    """Files of this run's topics, with six segments of one among them, and aborted records.

    Rolled: without the newest of each partition, whose indexes Kafka pads with zeros.
    """
    root = data_dir(tools)
    filled = f"{tools.topic('dump-rolled')}-0"
    if not any(root.rglob(filled)):
        topic = tools.create("dump-rolled", 1, segment_bytes=1048576)
        tools.fill_by_performance_tool(topic, 20_000)
        copy(tools, "dump-copy", 2000, "--enable-random-aborts")
    found: list[Path] = []
    for folder in sorted(root.rglob(f"suite-{tools.run}-*")):
        files = sorted(folder.glob(f"*{suffix}"))
        found += [file for file in (files[:-1] if rolled else files) if file.stat().st_size]
    assert found, f"no {'rolled ' if rolled else ''}*{suffix} of this run in the broker's folder"
    found.sort(key=lambda file: (file.parent.name != filled, -file.stat().st_size))
    return found[:MOST_FILES]


def assert_no_complaint(output: str) -> None:
    # Said of every segment that does not begin at offset 0.
    output = re.sub(r"Non-consecutive offsets in .*\n\s+-1 is followed by \d+\n", "", output)
    for complaint in COMPLAINTS:
        assert complaint not in output, f"the dump says {complaint!r}"


def dump(tools: Tools, files: list[Path], *words: str) -> str:
    names = ",".join(map(str, files))
    output = tools("kafka-dump-log", *words, "--files", names, bootstrap=False)
    assert_no_complaint(output)
    return output


@check("dump-log-deep")
def dump_log_deep(tools: Tools) -> None:
    output = dump(tools, segments(tools, ".log"), "--deep-iteration")
    assert "isvalid: true" in output, "no valid batch"
    assert "| offset: " in output, "no record"


@check("dump-log-index-sanity")
def dump_log_index_sanity(tools: Tools) -> None:
    for suffix in (".index", ".timeindex"):
        files = segments(tools, suffix, rolled=True)
        passed = dump(tools, files, "--index-sanity-check").count("passed sanity check.")
        assert passed == len(files), f"{passed} of {len(files)} {suffix} files"


@check("dump-log-verify-index")
def dump_log_verify_index(tools: Tools) -> None:
    files = segments(tools, ".index", rolled=True) + segments(tools, ".timeindex", rolled=True)
    dump(tools, files, "--verify-index-only")


def internal(tools: Tools, topic: str, decoder: str, text: str) -> None:
    """An internal topic's records mean to Kafka's decoder what they should."""
    files = [
        file
        for file in data_dir(tools).rglob("*.log")
        if re.fullmatch(rf"{topic}-\d+", file.parent.name) and file.stat().st_size
    ]
    assert files, f"no {topic} with records: earlier checks should have filled it"
    output = dump(tools, files, decoder)
    assert text in output, f"no {text!r} decoded from {topic}"


@check("dump-log-offsets")
def dump_log_offsets(tools: Tools) -> None:
    internal(tools, "__consumer_offsets", "--offsets-decoder", '"group"')


@check("dump-log-transactions")
def dump_log_transactions(tools: Tools) -> None:
    internal(tools, "__transaction_state", "--transaction-log-decoder", "transactionalId")
