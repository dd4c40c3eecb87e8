"""`kafka-storage`, and the broker that takes over what it has formatted."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.kafka_compat import cluster, features, storage
from headrace.cli.kafka_compat.releases import features_of, level_of, name_of
from headrace.cluster.features import SUPPORTED
from headrace.testing import Broker
from tests.cli.kafka_compat.conftest import Tool


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(f"node.id=4\nlog.dirs={tmp_path / 'data'}\n")
    return path


def test_a_broker_takes_the_id_that_it_was_formatted_with(
    tool: Tool, config: Path, tmp_path: Path
) -> None:
    """A cluster's id can be chosen before there is a cluster."""
    cluster_id = tool(storage.run, "random-uuid").out.strip()
    assert len(cluster_id) == 22
    done = tool(storage.run, "format", "-t", cluster_id, "-c", str(config), "--standalone")
    data = tmp_path / "data"
    assert done.out == f"Formatting data directory {data} with metadata.version 4.3-IV0.\n"
    assert "--standalone has no meaning here" in done.err
    told = tool(storage.run, "info", "--config", str(config))
    assert told.code == 0
    assert f"{{cluster.id={cluster_id}, directory.id=" in told.out
    with Broker({"broker.id": "4"}, data=data) as broker:
        where = ["--bootstrap-server", broker.bootstrap_servers]
        assert tool(cluster.run, "cluster-id", *where).out == f"Cluster ID: {cluster_id}\n"


@pytest.mark.parametrize(
    ("line", "words", "complaint"),
    [
        ("zookeeper.connect=127.0.0.1:2181", [], "only supported for clusters in KRaft mode"),
        ("node.id=4", ["--add-scram", "SCRAM-SHA-256=[name=a,password=p]"], "not serve SCRAM yet"),
        ("node.id=4", ["--feature", "nonsense=1"], "Unsupported feature: nonsense"),
        ("node.id=4", ["--release-version", "2.8"], "Unknown release version '2.8'"),
        ("", [], "valid non-negative node ID"),
    ],
)
def test_what_cannot_be_formatted_is_refused(
    tool: Tool, config: Path, tmp_path: Path, line: str, words: list[str], complaint: str
) -> None:
    """And nothing is written."""
    config.write_text(config.read_text().replace("node.id=4", line))
    refused = tool(storage.run, "format", "-t", "x" * 22, "-c", str(config), *words)
    assert (refused.code, refused.out) == (1, "")
    assert complaint in refused.err
    assert not (tmp_path / "data").exists()


def test_a_file_that_is_not_there_is_named(tool: Tool) -> None:
    """As the cause of the failure."""
    refused = tool(storage.run, "info", "-c", "/nowhere/server.properties")
    assert (refused.code, "/nowhere/server.properties cannot be read" in refused.err) == (1, True)


def test_releases_have_levels_and_names() -> None:
    """The newest of a release stands for it; what the brokers support is known by name."""
    assert (level_of("4.3"), level_of("4.3-IV0"), name_of(30)) == (30, 30, "4.3-IV0")
    assert (level_of("4.0"), level_of("3.3-IV3"), name_of(6), name_of(31)) == (25, 7, None, None)
    assert level_of("2.8") is None
    assert set(SUPPORTED) <= {"metadata.version", *features_of(30)}


def test_flags_stand_on_either_side_of_the_command(tool: Tool, headrace_broker: Broker) -> None:
    """Of `kafka-features`, and of every tool that has commands; those of others are refused."""
    where = ["--bootstrap-server", headrace_broker.bootstrap_servers]
    before = tool(features.run, *where, "describe")
    assert before.code == 0
    assert "Feature: group.version  " in before.out
    assert tool(features.run, "describe", *where) == before
    refused = tool(features.run, *where, "describe", "--unsafe")
    assert (refused.code, "unrecognized arguments: '--unsafe'" in refused.err) == (1, True)
    few = tool(features.run, *where)
    assert (few.code, "too few arguments; say what to do: describe, upgrade" in few.err) == (
        1,
        True,
    )
