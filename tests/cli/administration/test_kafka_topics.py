"""`kafka-topics` on three brokers: what it does, what it prints, how it ends."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Position

from headrace.admin.settings import SettingView, Source
from headrace.admin.views import PartitionView, Reassignment, TopicView
from headrace.cli.kafka_compat import topics
from headrace.cli.kafka_compat.topic_report import Filter, report
from headrace.testing import Broker, Cluster
from headrace.types import ZERO_UUID, TopicPartition
from tests.cli.administration.conftest import Tool
from tests.kafka.apache_kafka import java_command


@pytest.fixture
def where(trio: Cluster) -> list[str]:
    return ["--bootstrap-server", trio.bootstrap_servers]


@pytest.mark.spec("admin:CL-01", "admin:CL-03", "admin:CL-04")
@pytest.mark.spec("slides:N05", "slides:N06", "slides:N14")
def test_a_topic_lives_from_create_to_delete(tool: Tool, where: list[str], name: str) -> None:
    """Each step is told as Kafka tells it; alter and delete succeed in silence."""
    plan = ["--replica-assignment", "0:1:2,1:2:0"]
    made = tool(
        topics.run, *where, "--create", "--topic", name, *plan, "--config", "retention.ms=9"
    )
    assert made == (0, f"Created topic {name}.\n", "")
    assert name in tool(topics.run, *where, "--list").out.splitlines()
    head, first, second = tool(topics.run, *where, "--describe", "--topic", name).out.splitlines()
    assert re.fullmatch(
        rf"Topic: {name}\tTopicId: \S{{22}}\tPartitionCount: 2\tReplicationFactor: 3\t"
        r"Configs: retention\.ms=9",
        head,
    )
    tail = "\tElr: \tLastKnownElr: "
    assert first == f"\tTopic: {name}\tPartition: 0\tLeader: 0\tReplicas: 0,1,2\tIsr: 0,1,2{tail}"
    assert second == f"\tTopic: {name}\tPartition: 1\tLeader: 1\tReplicas: 1,2,0\tIsr: 1,2,0{tail}"
    topic_id = head.split("\t")[1].removeprefix("TopicId: ")
    assert tool(topics.run, *where, "--describe", "--topic-id", topic_id).out.startswith(head)
    alter = ["--alter", "--topic", name, "--partitions", "3"]
    assert tool(topics.run, *where, *alter, "--replica-assignment", "0:1:2,1:2:0,2:1:0") == (
        0,
        "",
        "",
    )
    grown = tool(topics.run, *where, "--describe", "--topic", name).out.splitlines()
    assert "Partition: 2\tLeader: 2\tReplicas: 2,1,0\t" in grown[3]
    assert tool(topics.run, *where, "--delete", "--topic", name) == (0, "", "")
    gone = tool(topics.run, *where, "--describe", "--topic", name)
    complaint = f"Error while executing topic command : Topic '{name}' does not exist as expected\n"
    assert gone == (1, complaint, "")
    assert tool(topics.run, *where, "--describe", "--if-exists", "--topic", name) == (0, "", "")


@pytest.mark.spec("slides:M14")
def test_the_topic_of_confluents_metrics_is_listed_as_any_other(tool: Tool) -> None:
    """Its reporter's settings do no harm, and a name with an underscore is no internal topic's."""
    reporter = "io.confluent.metrics.reporter.ConfluentMetricsReporter"
    settings = {
        "metric.reporters": reporter,
        "confluent.metrics.reporter.bootstrap.servers": "localhost:9092",
        "confluent.metrics.reporter.topic.replicas": "1",
        "offsets.topic.num.partitions": 1,
    }
    with Broker(settings) as broker:
        where = ["--bootstrap-server", broker.bootstrap_servers]
        create = ["--create", "--topic", "_confluent-metrics", "--partitions", "12"]
        assert tool(topics.run, *where, *create).code == 0
        member = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "readers"})
        member.commit(offsets=[Position("_confluent-metrics", 0, 0)], asynchronous=False)
        member.close()
        listed = tool(topics.run, *where, "--list").out.splitlines()
        assert listed == ["__consumer_offsets", "_confluent-metrics"]
        ours = tool(topics.run, *where, "--list", "--exclude-internal").out.splitlines()
        assert ours == ["_confluent-metrics"]


@pytest.mark.spec("slides:N03", "slides:N04", "admin:CL-02")
@pytest.mark.spec("book1:Z-10")
def test_the_spellings_of_old_still_work(
    tool: Tool, where: list[str], trio: Cluster, name: str
) -> None:
    """--zookeeper finds the brokers that are registered there, and says that it is of the past."""
    old = ["--zookeeper", trio.zookeeper]
    numbers = ["--replication-factor", "2", "--partitions", "1"]
    made = tool(topics.run, "--create", *old, *numbers, "--topic", name)
    assert made.out == f'Created topic "{name}".\n'
    assert "--zookeeper is deprecated" in made.err
    assert name in tool(topics.run, "-list", *old).out.splitlines()
    assert name in tool(topics.run, "--broker-list", where[1], "--li").out.splitlines()


def test_names_are_a_regular_expression(tool: Tool, where: list[str], name: str) -> None:
    """With commas for alternatives; a name with dots or underscores is warned of."""
    for suffix in ("a", "b"):
        words = ["--create", "--topic", f"{name}.{suffix}", "--partitions", "1"]
        assert "topics with a period" in tool(topics.run, *where, *words).out
    again = ["--create", "--topic", f"{name}.a"]
    assert "already exists" in tool(topics.run, *where, *again).out
    assert tool(topics.run, *where, *again, "--if-not-exists").code == 0
    listed = tool(topics.run, *where, "--list", "--topic", f"{name}.*").out
    assert listed == f"{name}.a\n{name}.b\n"
    both = f"{name}.a,{name}.b"
    assert len(tool(topics.run, *where, "--describe", "--topic", both).out.splitlines()) == 4
    assert tool(topics.run, *where, "--delete", "--topic", both).code == 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--list"], "--bootstrap-server must be specified"),
        (["--list", "--create"], "Command must include exactly one action: --list, --describe"),
        (["-b", "h:1", "--create"], 'Missing required argument "[topic]"'),
        (["-b", "h:1", "--alter", "--topic", "t"], 'Missing required argument "[partitions]"'),
        (["--list", "--partitions", "1"], 'Option "[partitions]" can\'t be used with option'),
        (
            ["--create", "--topic", "t", "--replica-assignment", "0", "--partitions", "1"],
            'Option "[replica-assignment]" can\'t be used with option "[partitions]"',
        ),
        (
            ["--describe", "--topics-with-overrides", "--unavailable-partitions"],
            'Option "[topics-with-overrides]"',
        ),
        (["--bogus"], '"--bogus" is not a flag of this command'),
    ],
)
def test_wrong_usage_ends_with_one(tool: Tool, words: list[str], complaint: str) -> None:
    """As Kafka's own tool does, and in its words where a script might look for them."""
    given = [word.replace("-b", "--bootstrap-server") if word == "-b" else word for word in words]
    outcome = tool(topics.run, *given)
    assert outcome.code == 1
    assert complaint in outcome.err
    assert outcome.out == ""


def test_what_the_broker_refuses_is_told_without_ornament(
    tool: Tool, where: list[str], name: str
) -> None:
    """After the words that Kafka's tool puts in front."""
    for words, complaint in [
        (["--replication-factor", "4"], "larger than the number of available brokers: 3"),
        (["--replication-factor", "0"], "must be between 1 and 32767 inclusive"),
        (["--partitions", "0"], "The partitions must be greater than 0"),
        (["--config", "nonsense=1"], "Unknown topic config name: nonsense"),
        (["--replica-assignment", "0:0"], "may not contain duplicate entries: 0"),
        (["--replica-assignment", "0:1,2"], "Partition 1 has different replication factor: [2]"),
        (["--replica-assignment", "x"], "is not a list of brokers"),
    ]:
        outcome = tool(topics.run, *where, "--create", "--topic", name, *words)
        assert outcome.code == 1
        assert outcome.out.startswith("Error while executing topic command : ")
        assert complaint in outcome.out


@pytest.mark.slow
def test_apache_kafkas_own_tool_prints_the_same(
    tool: Tool, where: list[str], kafka_classpath: str, name: str
) -> None:
    """Byte for byte, on the same brokers."""
    tool(topics.run, *where, "--create", "--topic", name, "--partitions", "2")
    words = [*where, "--describe", "--topic", name]
    command = java_command(kafka_classpath, "org.apache.kafka.tools.TopicCommand", *words)
    theirs = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert tool(topics.run, *words).out == theirs.stdout


def test_the_tools_load_nothing_that_takes_long() -> None:
    """They start in a tenth of the time that a JVM takes: scripts run them again and again."""
    heavy = {"confluent_kafka", "typer", "rich", "asyncio", "kazoo"}
    tools = "topics, reassign_partitions, leader_election, cluster, replica_verification, configs, "
    tools += "consumer_groups, share_groups, groups, get_offsets, delete_records, transactions, "
    tools += "log_dirs, features, client_metrics, broker_api_versions, storage"
    program = f"from headrace.cli.kafka_compat import {tools}; import sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout.split()
    assert not heavy & set(loaded)


# -- the report, without a cluster ----------------------------------------------------------------


def partition(number: int, leader: int | None, isr: tuple[int, ...]) -> PartitionView:
    return PartitionView(number, leader, (0, 1, 2), isr, (), None, None)


TOPIC = TopicView(
    "t",
    ZERO_UUID,
    False,
    (
        partition(0, 0, (0, 1, 2)),
        partition(1, 1, (1, 2)),
        partition(2, 1, (1,)),
        partition(3, None, (2,)),
    ),
)
SETTINGS = {"t": [SettingView("min.insync.replicas", "2", Source.DEFAULT_CONFIG)]}


@pytest.mark.spec("admin:RC-33")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Filter.UNDER_REPLICATED, [1, 2, 3]),
        (Filter.UNAVAILABLE, [3]),
        (Filter.UNDER_MIN_ISR, [2, 3]),
        (Filter.AT_MIN_ISR, [1]),
    ],
)
def test_filters_show_only_what_is_not_well(kind: Filter, expected: list[int]) -> None:
    """Without the lines of topics."""
    lines = report([TOPIC], SETTINGS, {}, {0, 1, 2}, filters={kind}, overridden_only=False)
    found = [int(line.split("\t")[2].removeprefix("Partition: ")) for line in lines]
    assert found == expected


def test_a_moving_partition_shows_who_comes_and_goes() -> None:
    """Replicas that only come count for nothing: the partition is not under-replicated."""
    moving = PartitionView(0, 0, (0, 1, 2, 3), (0, 1, 2), (), None, None)
    topic = TopicView("t", ZERO_UUID, False, (moving,))
    moves = {TopicPartition("t", 0): Reassignment((0, 1, 2, 3), (3,), (0,))}
    head, line = report([topic], SETTINGS, moves, {0}, filters=(), overridden_only=False)
    assert head == "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: "
    assert "\tAdding Replicas: 3\tRemoving Replicas: 0\tElr: N/A\tLastKnownElr: N/A" in line
    filters = {Filter.UNDER_REPLICATED}
    assert not list(report([topic], SETTINGS, moves, {0}, filters=filters, overridden_only=False))


def test_overridden_topics_are_shown_without_partitions() -> None:
    """And the others not at all."""
    other = TOPIC._replace(name="u")
    settings = {**SETTINGS, "u": [SettingView("retention.ms", "1", Source.DYNAMIC_TOPIC_CONFIG)]}
    lines = list(report([TOPIC, other], settings, {}, {0}, filters=(), overridden_only=True))
    assert lines == ["Topic: u\tPartitionCount: 4\tReplicationFactor: 3\tConfigs: retention.ms=1"]
