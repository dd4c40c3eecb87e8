"""`headrace top` against a live broker."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from contextlib import closing

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.cli.asking import connect
from headrace.cli.target import parse_target
from headrace.cli.top.figures import Sort, compare
from headrace.cli.top.sampling import take
from headrace.testing import Broker
from tests.cli.conftest import Headrace
from tests.client.listeners import unused_port


def row(rows: list[dict[str, object]], name: str, value: str) -> dict[str, object]:
    (found,) = (each for each in rows if each[name] == value)
    return found


def test_rates_and_lag_are_those_of_the_cluster(
    live: Headrace, headrace_broker: Broker, topic: str
) -> None:
    """Exactly: 30 records written and 5 read between two looks, of 50 there are 15 read."""

    def write(count: int) -> None:
        lines = b"".join(b"%d\n" % number for number in range(count))
        assert live("produce", topic, stdin=lines).code == 0

    def commit(offset: int) -> None:
        there = {"bootstrap.servers": headrace_broker.bootstrap_servers}
        with closing(Consumer({**there, "group.id": f"g-{topic}"})) as consumer:
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)

    write(20)
    commit(10)
    with connect(parse_target(headrace_broker.bootstrap_servers, [])) as admin:
        before = take(admin, 0.0)
        write(30)
        commit(15)
        figures = compare(before, take(admin, 10.0), Sort.RATE, internal=False)
    assert row(figures.topics, "topic", topic)["records_s"] == 3.0
    group = row(figures.groups, "group", f"g-{topic}")
    assert (group["lag"], group["records_s"], group["caught_up_in_s"]) == (35, 0.5, 70)
    (broker,) = figures.brokers
    assert broker["records_s"] >= 3.0
    assert broker["size"] > 0


def test_one_interval_as_data(live: Headrace, topic: str) -> None:
    """For a script: what the tables show, with the length of the interval."""
    told = json.loads(live("top", "--once", "--interval", "0.1", "-o", "json").out)
    assert told["interval_s"] >= 0.1
    assert row(told["topics"], "topic", topic)["records_s"] == 0


def test_one_interval_as_text(live: Headrace, topic: str) -> None:
    """Three tables."""
    text = live("top", "--once", "--interval", "0.1").out
    assert text.startswith("BROKER  ADDRESS")
    assert topic in text
    assert "GROUP" in text


def test_without_a_terminal_a_script_is_told_what_to_do(live: Headrace) -> None:
    """Nothing is drawn into a file."""
    outcome = live("top")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "headrace: this is not a terminal; use --once in a script\n"


def test_nobody_to_look_at(headrace: Headrace) -> None:
    """One line that names the address."""
    outcome = headrace("top", "--once", "-b", f"127.0.0.1:{unused_port()}")
    assert outcome.code == 1
    assert "refused the connection" in outcome.err


def test_the_live_view_is_drawn_and_q_ends_it(headrace_broker: Broker, live: Headrace) -> None:
    """In a real terminal, whose settings are as before afterwards."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    before = termios.tcgetattr(slave)
    words = ["top", "--interval", "0.2", "-b", headrace_broker.bootstrap_servers]
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", *words],
        stdin=slave,
        stdout=slave,
        stderr=subprocess.PIPE,
        env=_without_size({**os.environ, "TERM": "xterm"}),
    )
    try:
        drawn = _read_until(master, b"RECORDS/S", within_s=20)
        assert b"controller: broker" in drawn
        os.write(master, b"q")
        _, said = process.communicate(timeout=20)
        assert (process.returncode, said) == (0, b"")
        assert termios.tcgetattr(slave) == before
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        os.close(master)
        os.close(slave)


def _without_size(environment: dict[str, str]) -> dict[str, str]:
    """The terminal itself shall say how large it is."""
    return {key: value for key, value in environment.items() if key not in ("COLUMNS", "LINES")}


def _read_until(handle: int, wanted: bytes, *, within_s: float) -> bytes:
    found = b""
    deadline = time.monotonic() + within_s
    while wanted not in found:
        ready, _, _ = select.select([handle], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            pytest.fail(f"the screen shows no {wanted!r}: {found!r}")
        found += os.read(handle, 65536)
    return found
