"""`kafka-configs` on three brokers, and by the spellings of old."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.kafka_compat import configs, topics
from headrace.testing import Cluster
from tests.cli.administration.conftest import Tool


@pytest.fixture
def where(trio: Cluster) -> list[str]:
    return ["--bootstrap-server", trio.bootstrap_servers]


@pytest.fixture
def topic(tool: Tool, where: list[str], name: str) -> str:
    words = ["--create", "--topic", name, "--partitions", "1", "--replication-factor", "1"]
    assert tool(topics.run, *where, *words).code == 0
    return name


@pytest.mark.spec("admin:CL-05")
def test_a_broker_is_asked_for_its_own_settings(
    tool: Tool, where: list[str], tmp_path: Path
) -> None:
    """Whichever broker was named to begin with; a file may say what to set."""
    file = tmp_path / "more.properties"
    file.write_text("log.cleaner.threads=2\nmessage.max.bytes = 70000\n")
    two = ["--broker", "2"]
    done = tool(configs.run, *where, *two, "--alter", "--add-config-file", str(file))
    assert done == (0, "Completed updating config for broker 2.\n", "")
    lines = tool(configs.run, *where, *two, "--describe").out.splitlines()
    assert lines[0] == "Dynamic configs for broker 2 are:"
    assert [line.split()[0] for line in lines[1:]] == [
        "log.cleaner.threads=2",
        "message.max.bytes=70000",
    ]
    assert tool(configs.run, *where, "--broker", "0", "--describe").out == (
        "Dynamic configs for broker 0 are:\n"
    )
    everything = tool(configs.run, *where, *two, "--describe", "--all").out
    assert "  broker.id=2 sensitive=false synonyms={" in everything
    keys = "log.cleaner.threads,message.max.bytes"
    assert tool(configs.run, *where, *two, "--alter", "--delete-config", keys).code == 0
    assert tool(configs.run, *where, *two, "--describe").out.count("\n") == 1


@pytest.mark.spec("admin:CL-05")
def test_all_brokers_have_defaults(tool: Tool, where: list[str]) -> None:
    """Which count for each of them."""
    change = ["--broker-defaults", "--alter", "--add-config", "log.cleaner.threads=3"]
    done = tool(configs.run, *where, *change)
    assert done == (0, "Completed updating default config for brokers in the cluster.\n", "")
    told = tool(configs.run, *where, "--entity-type", "brokers", "--describe").out
    assert told.splitlines() == [
        *(f"Dynamic configs for broker {number} are:" for number in range(3)),
        "Default configs for brokers in the cluster are:",
        "  log.cleaner.threads=3 sensitive=false "
        "synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.threads=3}",
    ]
    back = ["--broker-defaults", "--alter", "--delete-config", "log.cleaner.threads"]
    assert tool(configs.run, *where, *back).code == 0


@pytest.mark.spec("admin:CL-06")
def test_zookeeper_has_the_old_answers(
    tool: Tool, where: list[str], trio: Cluster, topic: str
) -> None:
    """Brokers are found there, and topics are told of as they were then."""
    old = ["--zookeeper", trio.zookeeper, "--entity-type", "topics", "--entity-name", topic]
    made = tool(configs.run, *old, "--alter", "--add-config", "retention.ms=1000")
    assert made.out == f"Completed Updating config for entity: topic '{topic}'.\n"
    assert "--zookeeper is deprecated" in made.err
    told = tool(configs.run, *old, "--describe")
    assert told.out == f"Configs for topic '{topic}' are retention.ms=1000\n"
    new = tool(configs.run, *where, "--topic", topic, "--describe").out
    assert "  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:" in new
    gone = tool(configs.run, *where, "--topic", topic, "--alter", "--delete-config", "retention.ms")
    assert gone == (0, f"Completed updating config for topic {topic}.\n", "")
    assert tool(configs.run, *old, "--describe").out == f"Configs for topic '{topic}' are \n"


@pytest.mark.spec("slides:N13")
def test_users_have_limits_by_the_old_command_line(tool: Tool, trio: Cluster, name: str) -> None:
    """A quota is set; a password is understood, and refused by a broker that keeps none."""
    user = ["--entity-type", "users", "--entity-name", name, "--zookeeper", trio.zookeeper]
    limit = ["--alter", "--add-config", "producer_byte_rate=1024"]
    assert tool(configs.run, *limit, *user).out == (
        f"Completed Updating config for entity: user-principal '{name}'.\n"
    )
    shown = tool(configs.run, "--describe", *user).out
    assert shown == f"Quota configs for user-principal '{name}' are producer_byte_rate=1024.0\n"
    password = ["--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=p]"]
    refused = tool(configs.run, *password, *user)
    assert (refused.code, refused.out) == (1, "")
    assert "the broker keeps no SCRAM credentials" in refused.err
    limit[1:] = ["--delete-config", "producer_byte_rate"]
    assert tool(configs.run, *limit, *user).code == 0
