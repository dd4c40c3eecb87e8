"""`kafka-consumer-groups` against a broker, and its tables without one."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.admin.groups import GroupView, MemberView
from headrace.cli.kafka_compat import consumer_groups, topics
from headrace.cli.kafka_compat.group_report import members_table, show_assignment, state_table
from headrace.testing import Broker
from headrace.types import TopicPartition as Place
from tests.cli.kafka_compat.conftest import Tool

MIDNIGHT_MS = 1_501_545_600_000  # 2017-08-01T00:00:00Z


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def read(tool: Tool, headrace_broker: Broker, topic: str, group: str) -> str:
    """A topic of two partitions with three records in the first, one an hour, of which one read."""
    servers = headrace_broker.bootstrap_servers
    words = ["--bootstrap-server", servers, "--create", "--topic", topic, "--partitions", "2"]
    assert tool(topics.run, *words).code == 0
    producer = Producer({"bootstrap.servers": servers})
    for hour in range(3):
        producer.produce(topic, f"{hour}", partition=0, timestamp=MIDNIGHT_MS + hour * 3_600_000)
    assert producer.flush(20) == 0
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    consumer.close()
    return topic


@pytest.mark.spec("admin:CL-08")
def test_offsets_and_lag_are_told_in_kafkas_columns(
    tool: Tool, headrace_broker: Broker, read: str, group: str
) -> None:
    """With an equals sign and several brokers, as runbooks write it."""
    server = headrace_broker.bootstrap_servers
    servers = f"--bootstrap-server={server},{server},{server}"
    told = tool(consumer_groups.run, "--new-consumer", servers, "--describe", "--group", group)
    head, line = (text.split() for text in told.out.strip().splitlines())
    assert head[1:7] == [
        *("TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID")
    ]
    assert line == [group, read, "0", "1", "3", "2", "-", "-", "-"]
    assert f"Consumer group '{group}' has no active members." in told.err
    assert "--new-consumer is deprecated" in told.err


@pytest.mark.spec("admin:CL-09")
def test_a_group_goes_back_to_a_time(
    tool: Tool, headrace_broker: Broker, read: str, group: str
) -> None:
    """To the first record at or after it; where there is none, to the end, which is told."""
    servers = headrace_broker.bootstrap_servers
    words = ["--bootstrap-server", servers, "--group", group, "--reset-offsets", "--topic", read]
    when = ["--to-datetime", "2017-08-01T00:14:23.933"]
    planned = tool(consumer_groups.run, *words, *when)
    assert "No action will be performed" in planned.err
    done = tool(consumer_groups.run, *words, *when, "--execute")
    assert done.out == planned.out
    assert f"Partition 1 from topic {read} is empty. Falling back" in done.out
    rows = [line.split() for line in done.out.splitlines() if line.startswith(group)]
    assert rows == [[group, read, "0", "1"], [group, read, "1", "0"]]
    back = tool(consumer_groups.run, *words, "--to-datetime", "2017-07-01T00:00:00.000+02:00")
    assert [line.split()[-1] for line in back.out.splitlines() if line.startswith(group)] == [
        "0",
        "0",
    ]
    wrong = tool(consumer_groups.run, *words, "--to-datetime", "yesterday", "--dry-run")
    assert (wrong.code, "does not contain a 'T'" in wrong.err) == (1, True)


def test_a_deleted_topic_does_not_hide_the_others(
    tool: Tool, headrace_broker: Broker, read: str, group: str
) -> None:
    """Where the log ends is not known; what was committed still is."""
    servers = headrace_broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers})
    admin.delete_topics([read])[read].result(20)
    where = ["--bootstrap-server", servers]
    told = tool(consumer_groups.run, *where, "--describe", "--group", group)
    assert told.code == 0
    for line in told.out.strip().splitlines()[1:]:
        assert line.split()[3:6] == ["1", "-", "-"]


def test_an_unreachable_broker_is_a_failure(tool: Tool) -> None:
    """Kafka's tool ends with 0 whatever happens; a script must not take that for an empty list."""
    refused = tool(consumer_groups.run, "--bootstrap-server", "127.0.0.1:1", "--list")
    assert (refused.code, refused.out) == (1, "")
    assert "refused the connection" in refused.err


# -- tables ---------------------------------------------------------------------------------------

A0, A1, B2 = Place("a", 0), Place("a", 1), Place("b", 2)


def member(name: str, *places: Place, upgraded: bool | None, instance: str | None) -> MemberView:
    return MemberView(name, instance, "app", "/h", places, places, 7, upgraded)


def group_of(*members: MemberView) -> GroupView:
    return GroupView("g", "Consumer", "Stable", "uniform", (1, "h", 9092), 8, 7, members)


def test_a_group_that_is_being_upgraded_shows_who_is() -> None:
    """KIP-848: members of both protocols, and which one each speaks."""
    old = member("old", A1, B2, A0, upgraded=False, instance=None)
    new = member("new", upgraded=True, instance="i-1")
    head, first, second = members_table(group_of(old, new), verbose=True).strip().splitlines()
    assert head.split() == [
        *("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"),
        *("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"),
    ]
    assert first.split()[-5:] == ["7", "a:0,1;b:2", "7", "a:0,1;b:2", "false"]
    assert second.split() == ["g", "new", "i-1", "/h", "app", "0", "7", "-", "7", "-", "true"]
    only = members_table(group_of(new._replace(instance_id=None)), verbose=True)
    assert "UPGRADED" not in only
    assert "INSTANCE" not in only
    assert show_assignment(()) == "-"


def test_the_state_of_a_group_has_its_epochs() -> None:
    """When asked to be verbose."""
    brief, full = (state_table(group_of(), verbose=verbose) for verbose in (False, True))
    assert brief.split("\n")[2].split() == ["g", "h:9092", "(1)", "uniform", "Stable", "0"]
    assert full.split("\n")[2].split()[4:] == ["Stable", "8", "7", "0"]
