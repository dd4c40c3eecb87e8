"""Elections by hand, and the cluster at a glance."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.cli.kafka_compat import cluster, leader_election, reassign_partitions, topics
from headrace.testing import Cluster
from tests.cli.administration.conftest import RACKS, Tool
from tests.cli.conftest import Headrace


@pytest.fixture
def where(trio: Cluster) -> list[str]:
    return ["--bootstrap-server", trio.bootstrap_servers]


@pytest.fixture
def led_by_another(tool: Tool, where: list[str], name: str, tmp_path: Path) -> str:
    """A topic whose leader is not its first replica: the list was turned round under it."""
    tool(topics.run, *where, "--create", "--topic", name, "--replica-assignment", "0:1:2")
    path = tmp_path / "turned.json"
    turned = {"topic": name, "partition": 0, "replicas": [2, 1, 0]}
    path.write_text(json.dumps({"version": 1, "partitions": [turned]}))
    done = tool(reassign_partitions.run, *where, "--execute", "--reassignment-json-file", str(path))
    assert done.code == 0
    return name


@pytest.mark.spec("slides:B33")
def test_preferred_leaders_are_elected_by_name(
    tool: Tool, where: list[str], led_by_another: str, tmp_path: Path
) -> None:
    """Once; then there is nothing to elect. A file may name the partitions."""
    words = [*where, "--election-type", "preferred"]
    one = ["--topic", led_by_another, "--partition", "0"]
    done = tool(leader_election.run, *words, *one)
    assert done.out == (
        f"Successfully completed leader election (PREFERRED) for partitions {led_by_another}-0\n"
    )
    path = tmp_path / "partitions.json"
    path.write_text(json.dumps({"partitions": [{"topic": led_by_another, "partition": 0}]}))
    again = tool(leader_election.run, *words, "--path-to-json-file", str(path))
    assert again == (0, f"Valid replica already elected for partitions {led_by_another}-0\n", "")
    found = tool(topics.run, *where, "--describe", "--topic", led_by_another).out
    assert "Leader: 2\tReplicas: 2,1,0" in found
    assert tool(leader_election.run, *words, "--all-topic-partitions").code == 0


def test_headrace_elects_and_tells_each_outcome(on_trio: Headrace, led_by_another: str) -> None:
    """By topic; an unclean election finds a leader that lives and does nothing."""
    (row,) = json.loads(on_trio("topic", "elect", led_by_another, "--preferred", "-o", "json").out)
    assert row == {"topic": led_by_another, "partition": 0, "result": "elected"}
    again = on_trio("topic", "elect", led_by_another, "--unclean", "--partition", "0")
    assert "leads already" in again.out
    for words, code, complaint in [
        ([], 2, "give --preferred or --unclean"),
        (["--unclean"], 2, "no topic is named"),
        (["nope", "--preferred"], 1, 'there is no topic "nope"'),
        ([led_by_another, "--preferred", "-p", "7"], 1, "there is no partition 7"),
    ]:
        outcome = on_trio("topic", "elect", *words)
        assert outcome.code == code
        assert complaint in outcome.err


def test_an_election_that_fails_is_told_as_java_tells_it(tool: Tool, where: list[str]) -> None:
    """With the name of the exception; the command fails."""
    words = [*where, "--election-type", "preferred", "--topic", "nope", "--partition", "0"]
    outcome = tool(leader_election.run, *words)
    assert outcome.code == 1
    assert outcome.out.startswith(
        "Error completing leader election (PREFERRED) for partition: nope-0: "
        "org.apache.kafka.common.errors.UnknownTopicOrPartitionException: "
    )
    assert outcome.err == "1 replica(s) could not be elected\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--topic", "t"], "Missing required option(s): bootstrap-server, election-type"),
        (["-b", "--election-type", "preferred"], "One and only one of the following options"),
        (["-b", "--election-type", "preferred", "--topic", "t"], "required option(s): partition"),
        (["-b", "--election-type", "best", "--all-topic-partitions"], "BEST is not a type"),
        (
            ["-b", "--election-type", "preferred", "--all-topic-partitions", "--partition", "1"],
            "Option partition is only allowed if topic is used",
        ),
    ],
)
def test_wrong_usage_of_elections(tool: Tool, words: list[str], complaint: str) -> None:
    """Told on stderr, with exit code 1."""
    given = [part for word in words for part in (["--boot", "h:1"] if word == "-b" else [word])]
    outcome = tool(leader_election.run, *given)
    assert outcome.code == 1
    assert complaint in outcome.err


def test_the_cluster_tool_tells_id_and_endpoints(
    tool: Tool, on_trio: Headrace, trio: Cluster
) -> None:
    """In Kafka's columns; a cluster on ZooKeeper has no broker to unregister."""
    servers = ["-b", trio.bootstrap_servers]
    cluster_id = on_trio("cluster", "id").out
    assert tool(cluster.run, "cluster-id", *servers).out == f"Cluster ID: {cluster_id}"
    head, *rows = tool(cluster.run, "list-endpoints", *servers).out.splitlines()
    assert head == "ID         HOST      PORT       RACK  STATE      ENDPOINT_TYPE  "
    assert rows[0] == (
        f"0          127.0.0.1 {trio.broker(0).port}      east  unfenced   broker         "
    )
    gone = tool(cluster.run, "unregister", *servers, "--id", "7")
    message = "The target cluster does not support the broker unregistration API.\n"
    assert gone == (0, message, "")
    for words, complaint in [
        (["bogus"], "invalid choice: 'bogus'"),
        (["cluster-id", "--config", "/x"], "is required"),
        (["unregister", *servers], "--id/-i is required"),
    ]:
        outcome = tool(cluster.run, *words)
        assert outcome.code == 1
        assert complaint in outcome.err


@pytest.mark.spec("slides:B05")
def test_status_shows_who_leads_how_much(
    on_trio: Headrace, tool: Tool, where: list[str], name: str
) -> None:
    """Leaders are spread evenly over the brokers of a new topic."""
    before = json.loads(on_trio("cluster", "status", "-o", "json").out)
    numbers = ["--partitions", "6", "--replication-factor", "3"]
    assert tool(topics.run, *where, "--create", "--topic", name, *numbers).code == 0
    after = json.loads(on_trio("cluster", "status", "-o", "json").out)
    for one, two in zip(before["brokers"], after["brokers"], strict=True):
        assert two["leads"] - one["leads"] == 2
        assert two["replicas"] - one["replicas"] == 6
    assert [each["rack"] for each in after["brokers"]] == RACKS
    assert after["controller"] in (0, 1, 2)
    head, ailing, columns, *rows = on_trio("cluster", "status").out.splitlines()
    assert head.startswith(f"cluster {after['cluster_id']}: controller {after['controller']}, ")
    assert ailing.endswith("0 offline, 0 under min ISR, 0 being reassigned")
    assert columns.split()[:5] == ["BROKER", "HOST", "PORT", "RACK", "LEADS"]
    assert len(rows) == 3
