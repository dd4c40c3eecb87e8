"""Replicas on the move: `kafka-reassign-partitions` and `headrace topic reassign`."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from headrace.cli.kafka_compat import reassign_partitions, topics
from headrace.testing import Cluster
from tests.cli.administration.conftest import Tool
from tests.cli.conftest import Headrace

PATIENCE_S = 30
UNKNOWN = "org.apache.kafka.common.errors.UnknownTopicOrPartitionException"


@pytest.fixture
def where(trio: Cluster) -> list[str]:
    return ["--bootstrap-server", trio.bootstrap_servers]


def create(tool: Tool, where: list[str], name: str, assignment: str) -> None:
    made = tool(topics.run, *where, "--create", "--topic", name, "--replica-assignment", assignment)
    assert made.code == 0, made.out


def fill(trio: Cluster, name: str, kilobytes: int) -> None:
    producer = Producer({"bootstrap.servers": trio.bootstrap_servers})
    for _ in range(kilobytes):
        producer.produce(name, b"x" * 1000, partition=0)
    assert producer.flush(30) == 0


def plan_file(folder: Path, name: str, *rows: list[int]) -> list[str]:
    path = folder / "plan.json"
    partitions = [
        {"topic": name, "partition": number, "replicas": row} for number, row in enumerate(rows)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return ["--reassignment-json-file", str(path)]


def verified(tool: Tool, where: list[str], file: list[str]) -> str:
    """What --verify says once nothing moves any more."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        out = tool(reassign_partitions.run, *where, "--verify", *file).out
        if "still in progress" not in out or time.monotonic() > deadline:
            return out
        time.sleep(0.1)


def settings_of(tool: Tool, where: list[str], name: str) -> str:
    head = tool(topics.run, *where, "--describe", "--topic", name).out.splitlines()[0]
    return head.partition("Configs: ")[2]


@pytest.mark.spec("book2:K-04", "book2:K-05", "admin:RC-35", "admin:CL-15")
def test_a_plan_is_carried_out_and_verified(
    tool: Tool, where: list[str], trio: Cluster, name: str, tmp_path: Path
) -> None:
    """Execute prints what to go back to; verify tells the outcome and takes the throttle away."""
    create(tool, where, name, "0:1,1:0")
    fill(trio, name, 10)
    file = plan_file(tmp_path, name, [1, 2], [1, 0])
    done = tool(reassign_partitions.run, *where, "--execute", *file, "--throttle", "90000000")
    assert done.code == 0
    assert done.out.startswith("Current partition replica assignment\n\n")
    before = json.loads(done.out.splitlines()[2])
    assert [each["replicas"] for each in before["partitions"]] == [[0, 1], [1, 0]]
    assert before["partitions"][0]["log_dirs"][0] == str(trio.broker(0).log_dir)
    assert "Save this to use as the --reassignment-json-file option during rollback" in done.out
    assert "Warning: You must run --verify periodically" in done.out
    assert "The inter-broker throttle limit was set to 90000000 B/s" in done.out
    assert done.out.endswith(
        f"Successfully started partition reassignments for {name}-0,{name}-1\n"
    )
    told = verified(tool, where, file)
    assert told == (
        "Status of partition reassignment:\n"
        f"Reassignment of partition {name}-0 is completed.\n"
        f"Reassignment of partition {name}-1 is completed.\n\n"
        "Clearing broker-level throttles on brokers 0,1,2\n"
        f"Clearing topic-level throttles on topic {name}\n"
    )
    assert settings_of(tool, where, name) == ""
    found = tool(topics.run, *where, "--describe", "--topic", name).out
    assert "Partition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\t" in found


def test_a_slow_move_is_listed_and_called_off(
    tool: Tool, where: list[str], trio: Cluster, name: str, tmp_path: Path
) -> None:
    """A throttle keeps it under way; a second plan has to say that it is additional."""
    create(tool, where, name, "0:1")
    fill(trio, name, 3000)
    file = plan_file(tmp_path, name, [2, 1])
    assert tool(reassign_partitions.run, *where, "--execute", *file, "--throttle", "1000").code == 0
    listed = tool(reassign_partitions.run, *where, "--list").out
    assert listed == (
        f"Current partition reassignments:\n{name}-0: replicas: 2,1,0. adding: 2. removing: 0.\n"
    )
    assert "leader.replication.throttled.replicas=0:0,0:1" in settings_of(tool, where, name)
    told = tool(reassign_partitions.run, *where, "--verify", *file).out
    assert f"Reassignment of partition {name}-0 is still in progress." in told
    again = tool(reassign_partitions.run, *where, "--execute", *file)
    assert again.code == 1
    assert again.out.startswith("Cannot execute because there is an existing partition assignment.")
    called_off = tool(reassign_partitions.run, *where, "--cancel", *file)
    assert called_off == (
        0,
        f"Successfully cancelled partition reassignment for: {name}-0\n"
        "None of the specified partition moves are active.\n"
        "Clearing broker-level throttles on brokers 0,1,2\n"
        f"Clearing topic-level throttles on topic {name}\n",
        "",
    )
    assert "Replicas: 1,0\t" in tool(topics.run, *where, "--describe", "--topic", name).out
    nothing = tool(reassign_partitions.run, *where, "--list").out
    assert nothing == "No partition reassignments found.\n"


def test_a_proposal_is_generated_for_the_brokers_named(
    tool: Tool, where: list[str], name: str, tmp_path: Path
) -> None:
    """Both halves are JSON on one line, and the proposal is a plan that could be carried out."""
    create(tool, where, name, "0:1,0:1,0:1")
    path = tmp_path / "topics.json"
    path.write_text(json.dumps({"version": 1, "topics": [{"topic": name}]}))
    asked = ["--generate", "--topics-to-move-json-file", str(path), "--broker-list"]
    lines = tool(reassign_partitions.run, *where, *asked, "0,2").out.splitlines()
    assert lines[0] == "Current partition replica assignment"
    assert lines[3] == "Proposed partition reassignment configuration"
    assert {tuple(each["replicas"]) for each in json.loads(lines[1])["partitions"]} == {(0, 1)}
    proposed = [each["replicas"] for each in json.loads(lines[4])["partitions"]]
    assert len(proposed) == 3
    assert all(sorted(each) == [0, 2] for each in proposed)
    for ids, complaint in [("0,0", "Broker list contains duplicate entries: [0]"), ("x", "ids")]:
        outcome = tool(reassign_partitions.run, *where, *asked, ids)
        assert outcome.code == 1
        assert complaint in outcome.out


def test_what_cannot_be_moved_is_refused(
    tool: Tool, where: list[str], name: str, tmp_path: Path
) -> None:
    """Brokers and partitions that do not exist, a file that is not there, flags that do not fit."""
    create(tool, where, name, "0:1")
    for rows, complaint in [
        ([[0, 7]], "Error: Unknown broker id 7\n"),
        ([[0, 1], [0, 1]], f"Error: {UNKNOWN}: Unable to find partition: {name}-1\n"),
    ]:
        file = plan_file(tmp_path, name, *rows)
        assert tool(reassign_partitions.run, *where, "--execute", *file) == (1, complaint, "")
    missing = plan_file(tmp_path, "no-such-topic", [0])
    outcome = tool(reassign_partitions.run, *where, "--execute", *missing)
    assert outcome == (1, f"Error: {UNKNOWN}: Topic no-such-topic not found.\n", "")
    outcome = tool(
        reassign_partitions.run, *where, "--execute", "--reassignment-json-file", "/no/such/file"
    )
    assert outcome.out == "Error: Unable to read file /no/such/file\n"
    for words, complaint in [
        (["--execute"], 'Missing required argument "[reassignment-json-file]"'),
        (["--list", "--throttle", "1"], 'Option "[throttle]" can\'t be used with action "[list]"'),
        (["--list", "--verify"], "Command must include exactly one action"),
    ]:
        outcome = tool(reassign_partitions.run, *where, *words)
        assert outcome.code == 1
        assert complaint in outcome.err


def described(on_trio: Headrace, name: str) -> list[list[int]]:
    (found,) = json.loads(on_trio("topic", "describe", name, "-o", "json").out)
    return [each["replicas"] for each in found["partitions"]]


@pytest.mark.spec("admin:RC-40", "admin:LB-06")
def test_headrace_raises_the_replication_factor(
    on_trio: Headrace, tool: Tool, where: list[str], name: str
) -> None:
    """A dry run moves nothing; its JSON is a plan; the real run waits until all are in sync."""
    create(tool, where, name, "0,1")
    words = ["topic", "reassign", name, "--replication-factor", "3"]
    shown = on_trio(*words, "--dry-run")
    assert shown.code == 0
    assert shown.out.splitlines()[0].split() == ["TOPIC", "PARTITION", "FROM", "TO"]
    assert described(on_trio, name) == [[0], [1]]
    plan = json.loads(on_trio(*words, "--dry-run", "-o", "json").out)
    assert on_trio(*words, "--throttle", "80000000").code == 0
    found = on_trio("topic", "describe", name, "-o", "json").out
    (topic,) = json.loads(found)
    assert [sorted(each["isr"]) for each in topic["partitions"]] == [[0, 1, 2]] * 2
    assert [each["replicas"] for each in topic["partitions"]] == [
        each["replicas"] for each in plan["partitions"]
    ]
    assert topic["configs"] == {}
    assert on_trio(*words).out == "nothing to move\n"


@pytest.mark.spec("book2:K-06", "admin:RC-37")
def test_headrace_moves_topics_away_from_a_broker_or_to_some(
    on_trio: Headrace, tool: Tool, where: list[str], name: str, tmp_path: Path
) -> None:
    """One command each; a plan from a file undoes it."""
    create(tool, where, name, "2:0,0:2,0:1")
    back = tmp_path / "back.json"
    dry = on_trio("topic", "reassign", name, "--to-brokers", "0,1", "--dry-run", "-o", "json")
    assert all(2 not in each["replicas"] for each in json.loads(dry.out)["partitions"])
    assert on_trio("topic", "reassign", name, "--drop-broker", "2").code == 0
    assert described(on_trio, name) == [[1, 0], [0, 1], [0, 1]]
    rows = [[2, 0], [0, 2]]
    partitions = [{"topic": name, "partition": n, "replicas": row} for n, row in enumerate(rows)]
    back.write_text(json.dumps({"partitions": partitions}))
    assert on_trio("topic", "reassign", "--plan", str(back)).code == 0
    assert described(on_trio, name) == [[2, 0], [0, 2], [0, 1]]


def test_headrace_shows_and_calls_off_what_is_under_way(
    on_trio: Headrace, tool: Tool, where: list[str], trio: Cluster, name: str, tmp_path: Path
) -> None:
    """--status as a table and as data; afterwards nothing moves and no throttle is left."""
    assert on_trio("topic", "reassign", "--status").out == "no active reassignments\n"
    create(tool, where, name, "0:1")
    fill(trio, name, 3000)
    file = plan_file(tmp_path, name, [2, 1])
    assert tool(reassign_partitions.run, *where, "--execute", *file, "--throttle", "1000").code == 0
    (row,) = json.loads(on_trio("topic", "reassign", "--status", "-o", "json").out)
    assert row == {
        "topic": name, "partition": 0, "replicas": [2, 1, 0], "adding": [2], "removing": [0],
    }  # fmt: skip
    status = json.loads(on_trio("cluster", "status", "-o", "json").out)
    assert status["partitions"]["reassigning"] == 1
    assert on_trio("topic", "reassign", "--cancel").code == 0
    assert on_trio("topic", "reassign", "--wait").out == "no active reassignments\n"
    assert settings_of(tool, where, name) == ""


def test_headrace_refuses_what_it_cannot_plan(on_trio: Headrace, name: str) -> None:
    """With the cause and the remedy."""
    for words, code, complaint in [
        ([], 2, "no action is given, or more than one"),
        (["--status", "--cancel"], 2, "or more than one"),
        (["-r", "2"], 2, "no topic is named"),
        ([name, "-r", "2"], 1, f'there is no topic "{name}"'),
        (["--all", "-r", "4"], 1, "needs as many live brokers, there are 3"),
        (["--all", "--to-brokers", "0,9"], 1, "broker 9 is not live; live brokers are 0, 1, 2"),
        (["--all", "--to-brokers", "a"], 2, "is not a list of brokers"),
        (["--plan", "/no/such/file"], 1, "cannot be read"),
        (
            ["--all", "-r", "1", "--throttle", "1", "--no-wait"],
            2,
            "the throttle would never be removed",
        ),
    ]:
        outcome = on_trio("topic", "reassign", *words)
        assert outcome.code == code, words
        assert complaint in outcome.err
