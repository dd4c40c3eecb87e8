"""`headrace produce --transactional-id` against a live broker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.cli.conftest import Headrace

READ_UNCOMMITTED = ["-X", "isolation.level=read_uncommitted"]


@pytest.mark.spec("slides:E05", "book2:O-10")
def test_all_of_the_input_is_one_transaction(
    live: Headrace, filled: str, transactional_id: str
) -> None:
    """Committed together, over all partitions."""
    lines = b"".join(b"t%d\n" % number for number in range(100))
    words = ["produce", filled, "--transactional-id", transactional_id]
    outcome = live(*words, stdin=lines)
    assert outcome.code == 0
    assert outcome.out == ""
    assert outcome.err.startswith(
        f"100 records committed to {filled} in 1 transaction, 0 aborted, "
    )
    shown = live("consume", filled).out.split()
    assert sorted(line for line in shown if line[0] == "t") == sorted(lines.decode().split())


def test_the_input_is_cut_into_transactions(
    live: Headrace, topic: str, transactional_id: str
) -> None:
    """So many records each, the last with what is left; each marker takes an offset."""
    words = ["produce", topic, "--transactional-id", transactional_id, "-o", "json"]
    outcome = live(*words, "--transaction-size", "3", stdin=b"a\nb\nc\nd\n")
    summary = json.loads(outcome.out)
    assert (summary["committed"], summary["transactions"], summary["aborted"]) == (4, 2, 0)
    assert live("consume", topic, "--format", "%v%o ").out == "a0 b1 c2 d4 "
    nothing = json.loads(live(*words).out)
    assert (nothing["committed"], nothing["transactions"]) == (0, 0)


@pytest.mark.spec("slides:E10", "admin:TX-04")
def test_a_bad_line_aborts_its_transaction(
    live: Headrace, topic: str, transactional_id: str
) -> None:
    """What was committed before stays; readers of committed records see nothing else."""
    words = ["produce", topic, "--format", "json", "--transactional-id", transactional_id]
    lines = b"".join(b'{"value":"%d"}\n' % number for number in range(3)) + b"{bad\n"
    outcome = live(*words, "--transaction-size", "2", stdin=lines)
    assert outcome.code == 1
    told, complaint = outcome.err.splitlines()
    assert told.startswith(f"2 records committed to {topic} in 1 transaction, 1 aborted, ")
    assert "line 4" in complaint
    assert live("consume", topic).out == "0\n1\n"
    assert live("consume", topic, *READ_UNCOMMITTED).out == "0\n1\n2\n"
    (view,) = json.loads(live("transaction", "describe", transactional_id, "-o", "json").out)
    assert (view["state"], view["started"]) == ("CompleteAbort", None)


def test_a_record_that_fails_aborts_its_transaction(
    live: Headrace, topic: str, transactional_id: str
) -> None:
    """Exit 1 with the reason, and nothing is visible."""
    words = ["produce", topic, "--format", "json", "--transactional-id", transactional_id]
    outcome = live(*words, stdin=b'{"value":"a"}\n{"value":"b","partition":9}\n')
    assert outcome.code == 1
    assert outcome.err.startswith(f"0 records committed to {topic} in 0 transactions")
    assert "nknown partition" in outcome.err
    assert live("consume", topic).out == ""


def test_ctrl_c_aborts(live: Headrace, topic: str, transactional_id: str, servers: str) -> None:
    """Exit 130; what was typed is gone, and the id is free at once."""
    command = [sys.executable, "-m", "headrace", "produce", topic, "-b", servers]
    command += ["--transactional-id", transactional_id]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(b"lost\n")
        while "Ongoing" not in live("transaction", "describe", transactional_id).out:
            assert process.poll() is None
        os.kill(process.pid, signal.SIGINT)
        said = process.stderr.read().decode()
        assert process.wait(timeout=30) == 130
    assert said.startswith(f"0 records committed to {topic} in 0 transactions, 1 aborted, ")
    assert live("consume", topic).out == ""
    again = live("produce", topic, "--transactional-id", transactional_id, stdin=b"kept\n")
    assert again.code == 0
    assert live("consume", topic).out == "kept\n"


@pytest.mark.spec("book2:O-13", "slides:E09")
def test_the_later_producer_wins(
    live: Headrace, topic: str, transactional_id: str, servers: str
) -> None:
    """Two with one id: the first is fenced, told so, and nothing of it is visible."""
    command = [sys.executable, "-m", "headrace", "produce", topic, "-b", servers]
    command += ["--transactional-id", transactional_id]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as first:
        assert first.stdin is not None
        assert first.stderr is not None
        first.stdin.write(b"first\n")
        while "Ongoing" not in live("transaction", "describe", transactional_id).out:
            assert first.poll() is None
        second = live("produce", topic, "--transactional-id", transactional_id, stdin=b"second\n")
        assert second.code == 0
        first.stdin.close()
        said = first.stderr.read().decode()
        assert first.wait(timeout=90) == 1
    assert f'transactional id "{transactional_id}" was taken over' in said
    assert "give each producer an id of its own" in said
    assert live("consume", topic).out == "second\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--transaction-size", "3"], "--transaction-size needs --transactional-id"),
        (["--transactional-id", "x", "--acks", "1"], "--transactional-id needs --acks all"),
        (["--transactional-id", "x", "--transaction-size", "0"], "--transaction-size"),
    ],
)
def test_what_cannot_be_a_transaction_is_wrong_usage(
    headrace: Headrace, words: list[str], complaint: str
) -> None:
    """Exit 2 and one line, before any broker is asked."""
    outcome = headrace("produce", "t", *words)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert complaint in outcome.err
