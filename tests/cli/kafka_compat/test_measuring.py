"""The tools that measure: what they count is true, what they print has Kafka's columns."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from headrace.cli.asking import connect
from headrace.cli.kafka_compat import (
    console_producer,
    consumer_perf_test,
    e2e_latency,
    producer_perf_test,
)
from headrace.cli.kafka_compat.perf.dates import shown_date
from headrace.cli.kafka_compat.perf.ledger import Ledger, Tally
from headrace.cli.kafka_compat.perf.pacing import Pace
from headrace.cli.kafka_compat.perf.payloads import random_letters
from headrace.cli.target import parse_target
from tests.cli.kafka_compat.conftest import Tool

TOTAL = re.compile(
    r"(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), [\d.]+ ms avg latency, "
    r"[\d.]+ ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99.9th\.\n"
)


@pytest.fixture
def at(services: dict[str, str], topic: str) -> list[str]:
    return ["--bootstrap-server", services["broker"], "--topic", topic]


def ends(services: dict[str, str], topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": services["broker"], "group.id": "ends"})
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
    consumer.close()
    return int(end)


def test_as_many_are_sent_as_are_told(
    tool: Tool, services: dict[str, str], at: list[str], topic: str
) -> None:
    """Every record is in the log, and the consumer's tool counts them and their bytes."""
    words = ("--num-records", "3000", "--record-size", "100", "--throughput", "-1")
    sent = tool(producer_perf_test.run, *at, *words)
    found = TOTAL.fullmatch(sent.out)
    assert found is not None, sent
    assert (sent.code, int(found[1]), ends(services, topic)) == (0, 3000, 3000)
    read = tool(consumer_perf_test.run, *at, "--num-records", "3000", "--hide-header")
    columns = read.out.rstrip("\n").split(", ")
    assert len(columns) == 10
    assert (columns[2], columns[4]) == (f"{3000 * 100 / 1024 / 1024:.4f}", "3000")


def test_keys_weigh_as_much_as_values(tool: Tool, at: list[str]) -> None:
    """data.consumed.in.MB is the sum of both, as Kafka's."""
    line = f"{'k' * 6000}\t{'v' * 4000}\n"
    words = ("--reader-property", "parse.key=true")
    assert tool(console_producer.run, *at, *words, stdin=line * 100).code == 0
    read = tool(consumer_perf_test.run, *at, "--num-records", "100", "--hide-header")
    assert read.out.split(", ")[2] == f"{1_000_000 / 1024 / 1024:.4f}"


def test_a_pace_is_kept(tool: Tool, at: list[str]) -> None:
    """So many records a second, in lines of the interval asked for."""
    words = ("--num-records", "300", "--payload-monotonic", "--throughput", "400")
    sent = tool(producer_perf_test.run, *at, *words, "--reporting-interval", "300")
    windows = sent.out.splitlines()[:-1]
    assert windows
    assert all(re.fullmatch(r"\d+ records sent, .* ms max latency\.", line) for line in windows)
    found = TOTAL.fullmatch(sent.out.splitlines(keepends=True)[-1])
    assert found is not None
    assert 200 < float(found[2]) < 440


def test_transactions_warm_up_and_metrics(
    tool: Tool, services: dict[str, str], at: list[str], topic: str, tmp_path: Path
) -> None:
    """Each transaction leaves its marker; the steady part is told apart; metrics as Java's."""
    (tmp_path / "values").write_text("one,two")
    words = [
        *("--num-records", "100", "--throughput", "200", "--transaction-duration-ms", "200"),
        *("--payload-file", str(tmp_path / "values"), "--payload-delimiter", ","),
        *("--warmup-records", "40", "--print-metrics"),
    ]
    sent = tool(producer_perf_test.run, *at, *words)
    assert sent.code == 0, sent
    lines = sent.out.splitlines()
    assert lines[0] == f"Reading payloads from: {tmp_path / 'values'}"
    assert lines[1:3] == [
        "Number of records read: 2",
        "Warmup first 40 records. Steady state results will print after the complete test summary.",
    ]
    assert lines[3].startswith("100 records sent, ")
    assert lines[4].startswith("60 steady state records sent, ")
    markers = ends(services, topic) - 100
    assert 1 <= markers <= 4
    metrics = dict(line.rsplit(" : ", 1) for line in lines if line.startswith("producer-metrics:"))
    tags = ":{client-id=perf-producer-client}"
    by_name = {name.strip().removeprefix("producer-metrics:"): metrics[name] for name in metrics}
    assert by_name[f"record-send-total{tags}"] == "100.000"
    assert by_name[f"record-size-avg{tags}"] == "3.000"


def test_what_is_not_acknowledged_is_not_counted(
    tool: Tool, services: dict[str, str], at: list[str], topic: str
) -> None:
    """Records that are too large for the topic are told on stderr and left out of the sum."""
    with connect(parse_target(services["broker"], [])) as admin:
        admin.create(topic, 1, 1, settings={"max.message.bytes": "300"})
    words = ("--num-records", "5", "--record-size", "500", "--throughput", "100")
    sent = tool(producer_perf_test.run, *at, *words, "--command-property", "linger.ms=0")
    assert sent.out.startswith("0 records sent, ")
    assert sent.err.count("too large") == 5


def test_a_consumer_that_waits_in_vain(tool: Tool, at: list[str]) -> None:
    """--timeout ends it, with a warning and the columns of what there was."""
    words = ("--num-records", "5", "--throughput", "-1", "--record-size", "10")
    assert tool(producer_perf_test.run, *at, *words).code == 0
    read = tool(consumer_perf_test.run, *at, "--num-records", "6", "--timeout", "1000")
    header, warning, columns = read.out.splitlines()
    assert header.startswith("start.time, end.time, data.consumed.in.MB, MB.sec, ")
    assert warning.startswith("WARNING: Exiting before consuming the expected number of records")
    assert columns.split(", ")[4] == "5"


def test_one_record_after_the_other(tool: Tool, services: dict[str, str], topic: str) -> None:
    """By flags and by place; a topic that is not there is made."""
    by_place = tool(e2e_latency.run, services["broker"], topic, "3", "1", "10")
    assert by_place.code == 0
    lines = by_place.out.splitlines()
    assert lines[0].startswith("WARNING: Positional argument usage is deprecated")
    assert lines[1] == (
        f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and '
        "replication factor = 1"
    )
    assert re.fullmatch(r"0\t[\d.]+", lines[2])
    assert re.fullmatch(r"Avg latency: [\d.]+ ms", lines[3])
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99.9th = \d+", lines[4])


def test_the_tools_start_at_once() -> None:
    """What a virtual machine needs before its first word is more than all of this."""
    fastest = min(_start_time_s() for _ in range(3))
    assert fastest < 1.0, fastest


def _start_time_s() -> float:
    program = [sys.executable, "-m", "headrace.cli.kafka_compat", "kafka-producer-perf-test"]
    began = time.monotonic()
    subprocess.run([*program, "--help"], check=True, capture_output=True)
    return time.monotonic() - began


# -- the parts ------------------------------------------------------------------------------------


def test_a_ledger_knows_how_long_each_chunk_took() -> None:
    """A chunk is done when as many have gone as were sent up to its end."""
    ledger = Ledger(now_ms=0, warmup=10, interval_ms=100)
    ledger.note_sent(10, 1000, 0)
    ledger.note_sent(10, 1000, 10)
    assert ledger.note_gone(9, 20) == []
    assert ledger.total.count == 0
    assert ledger.note_gone(10, 30) == []
    (steady, window) = ledger.note_gone(20, 100)
    assert steady == "In steady state."
    assert window.startswith("20 records sent, 200.0 records/sec (0.02 MB/sec), 60.0 ms avg ")
    assert ledger.steady is not None
    assert (ledger.steady.count, ledger.steady.max_ms) == (10, 90)
    ledger.forget(5)
    assert (ledger.total.count, ledger.total.size) == (15, 1500)


def test_percentiles_are_those_of_the_sorted_list() -> None:
    """As Kafka takes them: the value at the place that the part of the count is."""
    tally = Tally(0)
    for latency in range(1000):
        tally.add(1, 1, latency)
    assert tally.percentiles() == [500, 950, 990, 999]
    assert tally.average_ms == 499.5


def test_a_pace_says_when_the_next_is_due() -> None:
    """Never below zero is no limit; chunks stay small where the pace is slow or records large."""
    assert Pace(-1, 0).ahead_s(10**9, 0) == 0
    assert Pace(100, 0).ahead_s(50, 0.2) == pytest.approx(0.3)
    assert (Pace(100, 0).chunk(10), Pace(-1, 0).chunk(1 << 20)) == (1, 1)


def test_values_differ_from_one_another() -> None:
    """Letters only, of the size asked for, also if that is more than there is in stock."""
    values = random_letters(100)
    some = {next(values) for _ in range(1000)}
    assert len(some) == 1000
    assert all(len(each) == 100 and each.isalpha() and each.isupper() for each in some)
    assert len(next(random_letters(3_000_000))) == 3_000_000


def test_dates_by_javas_patterns() -> None:
    """The letters of SimpleDateFormat that a time needs, quotes and doubled quotes."""
    when = time.mktime((2026, 3, 4, 15, 6, 7, 0, 0, -1)) + 0.089
    assert shown_date(when) == "2026-03-04 15:06:07:089"
    assert shown_date(when, "d.M.yy 'at' h:mm a, MMM") == "4.3.26 at 3:06 PM, Mar"
