"""`kafka-console-share-consumer` and its perf test: a share group, record by record."""

from __future__ import annotations

import uuid

import pytest

from headrace.admin.client import Changes
from headrace.admin.settings import Resource
from headrace.cli.asking import connect
from headrace.cli.kafka_compat import (
    console_producer,
    console_share_consumer,
    share_consumer_perf_test,
)
from headrace.cli.target import parse_target
from tests.cli.kafka_compat.conftest import Tool


@pytest.fixture
def group(services: dict[str, str]) -> str:
    """A share group that begins with the first record."""
    name = f"workers-{uuid.uuid4().hex[:8]}"
    values = {"share.auto.offset.reset": "earliest"}
    with connect(parse_target(services["broker"], [])) as admin:
        admin.alter_settings([Changes(Resource.GROUP, name, values)])
    return name


def test_accept_release_and_reject(
    tool: Tool, services: dict[str, str], topic: str, group: str
) -> None:
    """What is released comes again, with one delivery more; what is rejected never does."""
    at = ("--bootstrap-server", services["broker"], "--topic", topic)
    tool(console_producer.run, *at, stdin="one\ntwo\n")
    run, read = console_share_consumer.run, (*at, "--group", group)
    counts = ("--formatter-property", "print.delivery=true", "--max-messages", "1")
    released = tool(run, *read, *counts, "--release")
    assert released == (0, "Delivery:1\tone\n", "Processed a total of 1 messages\n")
    rejected = tool(run, *read, *counts, "--reject")
    assert (rejected.code, rejected.out) == (0, "Delivery:2\tone\n")
    accepted = tool(run, *read, "--max-messages", "1")
    assert accepted.out == "two\n"
    tool(console_producer.run, *at, stdin="three\n")
    assert tool(run, *read, "--max-messages", "1").out == "three\n"


def test_members_of_a_share_group_are_measured(
    tool: Tool, services: dict[str, str], topic: str, group: str
) -> None:
    """Two threads share the records; each and their sum are told."""
    at = ("--bootstrap-server", services["broker"], "--topic", topic)
    tool(console_producer.run, *at, stdin="x\n" * 50)
    words = ("--group", group, "--num-records", "50", "--threads", "2", "--show-consumer-stats")
    done = tool(share_consumer_perf_test.run, *at, *words)
    assert done.code == 0, done
    header, *shares, total = done.out.splitlines()
    assert header.startswith("start.time, end.time, data.consumed.in.MB, MB.sec, nMsg.sec, ")
    assert [line.split()[2] for line in shares] == ["1", "2"]
    taken = [int(line.split(", ")[5]) for line in (*shares, total)]
    assert taken[0] + taken[1] == taken[2] == 50
