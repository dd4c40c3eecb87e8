"""`kafka-replica-verification`: all replicas are read and found equal."""

from __future__ import annotations

import dataclasses
import itertools
import re
import signal
import subprocess
import sys
import time

import pytest
from confluent_kafka import Producer

from headrace.admin.client import Admin
from headrace.cli.kafka_compat import replica_verification, topics
from headrace.cli.kafka_compat.replica_verification import Verification
from headrace.client.settings import client_settings
from headrace.testing import Cluster
from headrace.types import TopicPartition
from tests.cli.administration.conftest import Tool

EARLIEST = -2
PATIENCE_S = 30


def fill(trio: Cluster, name: str, records: int) -> None:
    producer = Producer({"bootstrap.servers": trio.bootstrap_servers, "linger.ms": 0})
    for number in range(records):
        producer.produce(name, b"x" * 100, partition=number % 2)
    assert producer.flush(30) == 0


@pytest.mark.spec("slides:B04")
def test_replicas_are_compared_until_the_end(tool: Tool, trio: Cluster, name: str) -> None:
    """Round by round, from the beginning up to the high watermark of each partition."""
    where = ["--bootstrap-server", trio.bootstrap_servers]
    create = ["--create", "--topic", name, "--replica-assignment", "0:1:2,1:2:0"]
    assert tool(topics.run, *where, *create).code == 0
    fill(trio, name, 100)
    settings, _ = client_settings({"bootstrap.servers": trio.bootstrap_servers})
    with Admin(settings) as admin:
        verification = Verification(
            admin,
            admin.describe([name]),
            start_time=EARLIEST,
            fetch_bytes=2000,
            max_wait_ms=50,
        )
        assert set(verification.offsets.values()) == {0}
        deadline = time.monotonic() + PATIENCE_S
        while set(verification.offsets.values()) != {50} and time.monotonic() < deadline:
            assert verification.round(str)
        assert verification.offsets == {TopicPartition(name, 0): 50, TopicPartition(name, 1): 50}
        assert verification.max_lag() == (0, TopicPartition(name, 0), 50)


@pytest.mark.spec("slides:N10")
def test_the_command_tells_its_lag_until_it_is_interrupted(
    tool: Tool, trio: Cluster, name: str
) -> None:
    """In the words, and under the flags, that the documents have."""
    where = ["--bootstrap-server", trio.bootstrap_servers]
    create = ["--create", "--topic", name, "--replica-assignment", "0:1,1:0"]
    assert tool(topics.run, *where, *create).code == 0
    program = "headrace.cli.kafka_compat"
    words = ["--broker-list", trio.bootstrap_servers, "--topic-white-list", name]
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            program,
            "kafka-replica-verification",
            *words,
            "--report-interval-ms=10",
        ],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        started, lag = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    now = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
    assert re.fullmatch(rf"{now}: verification process is started\.\n", started)
    assert re.fullmatch(
        rf"{now}: max lag is 0 for partition \[{name},0\] at offset 0 among 2 partitions\n", lag
    )
    assert process.returncode == 130


@pytest.mark.spec("slides:P14")
def test_the_lag_is_told_every_half_minute(tool: Tool, trio: Cluster, name: str) -> None:
    """By a clock that goes five seconds at each look: three times in 125 s, if nobody says more."""
    where = ["--bootstrap-server", trio.bootstrap_servers]
    create = ["--create", "--topic", name, "--replica-assignment", "0:1,1:0"]
    assert tool(topics.run, *where, *create).code == 0
    fill(trio, name, 10)
    clock = itertools.chain(range(5, 130, 5), iter(_interrupt, None))

    plan = replica_verification.plan_with(lambda: float(next(clock)))
    verify = dataclasses.replace(replica_verification.run, plan=plan)
    words = ["--broker-list", trio.bootstrap_servers, "--topic-white-list", name]
    told = tool(verify, *words, "--max-wait-ms", "1")
    assert told.code == 130
    assert told.out.count("max lag is 0 for partition") == 3


def _interrupt() -> int:
    raise KeyboardInterrupt


def test_a_filter_without_topics_is_told(tool: Tool, trio: Cluster) -> None:
    """There would be nothing to compare."""
    words = ["--broker-list", trio.bootstrap_servers, "--topics-include", "no-such-topic"]
    outcome = tool(replica_verification.run, *words)
    assert outcome.code == 1
    assert outcome.err.startswith("No topics found")
