"""`kafka-verifiable-producer` and `-consumer`: lines of JSON that tests of systems rely on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from headrace.cli.kafka_compat import verifiable_consumer, verifiable_producer
from tests.cli.kafka_compat.conftest import Tool


def events(out: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in out.splitlines()]
    assert all(list(each)[:2] == ["timestamp", "name"] for each in found)
    return found


def test_what_is_acknowledged_is_told(tool: Tool, services: dict[str, str], topic: str) -> None:
    """A line for each record, with its place; a summary at the end; the consumer sees the same."""
    at = ("--bootstrap-server", services["broker"], "--topic", topic)
    words = ("--max-messages", "4", "--value-prefix", "7", "--repeating-keys", "2")
    sent = tool(verifiable_producer.run, *at, *words, "--throughput", "200")
    first, *sends, shutdown, summary = events(sent.out)
    assert (sent.code, first["name"], shutdown["name"]) == (
        0,
        "startup_complete",
        "shutdown_complete",
    )
    assert [(each["key"], each["value"], each["offset"]) for each in sends] == [
        ("0", "7.0", 0),
        ("1", "7.1", 1),
        ("0", "7.2", 2),
        ("1", "7.3", 3),
    ]
    assert (summary["name"], summary["sent"], summary["acked"]) == ("tool_data", 4, 4)
    assert summary["target_throughput"] == 200
    read = tool(
        *(verifiable_consumer.run, *at, "--group-id", topic, "--max-messages", "4", "--verbose"),
    )
    found = events(read.out)
    names = [each["name"] for each in found]
    assert names[:2] == ["startup_complete", "partitions_assigned"]
    assert names[-2:] == ["partitions_revoked", "shutdown_complete"]
    data = [each for each in found if each["name"] == "record_data"]
    assert [each["value"] for each in data] == [each["value"] for each in sends]
    committed = [each for each in found if each["name"] == "offsets_committed"]
    assert committed[-1]["offsets"] == [{"topic": topic, "partition": 0, "offset": 4}]
    assert committed[-1]["success"] is True


def test_a_producer_without_end_is_told_to_stop(services: dict[str, str], topic: str) -> None:
    """SIGTERM: what is under way is waited for, the summary is printed, 143 is the exit code."""
    tool = ["headrace.cli.kafka_compat", "kafka-verifiable-producer"]
    words = ["--bootstrap-server", services["broker"], "--topic", topic, "--throughput", "50"]
    with subprocess.Popen(
        [sys.executable, "-m", *tool, *words],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(3)]
        os.kill(process.pid, signal.SIGTERM)
        rest = process.stdout.read()  # to its end; it knows what `readline` has read ahead
    found = events("".join(first) + rest)
    assert process.returncode == 143
    assert [each["name"] for each in found[-2:]] == ["shutdown_complete", "tool_data"]
    assert found[-1]["acked"] == found[-1]["sent"] == len(found) - 3


def test_usage(tool: Tool) -> None:
    """No words at all is a question for help; a missing one is named, with 1."""
    for run in (verifiable_producer.run, verifiable_consumer.run):
        assert tool(run).code == 0
        refused = tool(run, "--topic", "x")
        assert refused.code == 1
        assert "error: one of the arguments --bootstrap-server is required" in refused.err
    acks = tool(verifiable_producer.run, "--topic=x", "--bootstrap-server=y", "--acks=2")
    assert "argument --acks: invalid choice: '2'" in acks.err
