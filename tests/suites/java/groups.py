"""Checks of the tools that look at groups and move their offsets."""

from __future__ import annotations

import re
import subprocess

from tests.suites.java.tools import Tools, check

POLLS = 15


@check("consumer-groups")
def consumer_groups(tools: Tools) -> None:
    topic, group = tools.create("groups", 2), tools.topic("groups-group")
    tools.produce(topic, 1000, "--repeating-keys", 100)
    ends = {partition: str(end) for partition, end in tools.offsets(topic).items()}
    until = ("--from-beginning", "--max-messages", 1000, "--timeout-ms", 30000)
    tools("kafka-console-consumer", "--topic", topic, "--group", group, *until)
    one = ("--group", group)

    def committed() -> dict[int, str]:
        output = tools("kafka-consumer-groups", "--describe", *one)
        rows = [line.split() for line in output.splitlines() if line.startswith(group)]
        return {int(row[2]): row[3] for row in rows}

    def reset(*how: object) -> None:
        tools("kafka-consumer-groups", "--reset-offsets", *one, "--topic", topic, *how)

    assert committed() == ends, "not committed at the end"
    tools("kafka-consumer-groups", "--list", says=[group])
    tools("kafka-consumer-groups", "--list", "--state", says=[group, "Empty"])
    tools("kafka-consumer-groups", "--list", "--type", says=[group, "Classic"])
    tools("kafka-groups", "--list", says=[group, "Classic"])
    tools("kafka-consumer-groups", "--describe", *one, "--state", says=["Empty"])
    tools("kafka-consumer-groups", "--describe", *one, "--members", says=["no active members"])
    reset("--to-earliest", "--dry-run")
    assert committed() == ends, "a dry run changed offsets"
    reset("--to-earliest", "--execute")
    assert committed() == {0: "0", 1: "0"}
    reset("--shift-by", 10, "--execute")
    assert committed() == {0: "10", 1: "10"}
    reset("--to-datetime", "2000-01-01T00:00:00.000", "--execute")
    assert committed() == {0: "0", 1: "0"}
    reset("--to-latest", "--execute")
    assert committed() == ends
    gone = ("--delete-offsets", *one, "--topic", f"{topic}:0")
    tools("kafka-consumer-groups", *gone, says=["Successful"])
    assert committed().get(0, "-") == "-"
    tools("kafka-consumer-groups", "--delete", *one, says=["successful"])
    tools("kafka-consumer-groups", "--list", says_not=[group])
    says = ["GroupIdNotFoundException"]
    tools("kafka-consumer-groups", "--describe", *one, code=None, says=says)


@check("consumer-groups-active")
def consumer_groups_active(tools: Tools) -> None:
    topic, group = tools.create("active", 2), tools.topic("active-group")
    protocol = ("--command-property", "group.protocol=consumer")
    words = ("--topic", topic, "--group", group, *protocol)
    command = tools.command("kafka-console-consumer", *words)
    quiet = subprocess.DEVNULL
    consumer = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
    describe = ("--describe", "--group", group)
    try:
        members = (
            tools("kafka-consumer-groups", *describe, "--members", "--verbose", code=None)
            for _ in range(POLLS)
        )
        both = re.compile(rf"{topic}.*0,1")
        assert any(both.search(output) for output in members), "no member with both partitions"
        tools("kafka-consumer-groups", *describe, "--state", says=["Stable", "uniform"])
        tools("kafka-groups", "--list", says=[group, "Consumer"])
        delete = ("--delete", "--group", group)
        says = ["GroupNotEmptyException"]
        tools("kafka-consumer-groups", *delete, code=None, says=says)
    finally:
        consumer.terminate()
        consumer.wait()
    states = (tools("kafka-consumer-groups", *describe, "--state", code=None) for _ in range(POLLS))
    assert any("Empty" in output for output in states), "the group did not become empty"


@check("share-group")
def share_group(tools: Tools) -> None:
    topic, group = tools.create("share", 2), tools.topic("share-group")
    entity = ("--entity-type", "groups", "--entity-name", group)
    tools("kafka-configs", "--alter", *entity, "--add-config", "share.auto.offset.reset=earliest")
    tools.produce(topic, 500)
    words = ("--topic", topic, "--group", group, "--max-messages", 500, "--timeout-ms", 30000)
    output = tools("kafka-console-share-consumer", *words, code=None)
    values = {line for line in output.splitlines() if line.isdigit()}
    assert len(values) == 500, f"{len(values)} of 500 records"
    tools("kafka-share-groups", "--list", says=[group])
    tools("kafka-share-groups", "--describe", "--group", group, says=[topic])
    tools("kafka-groups", "--list", says=[group, "Share"])
    tools("kafka-share-groups", "--delete", "--group", group)
