"""CreateTopics: defaults, configs, dry runs and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from headrace.errors import Error
from headrace.types import ZERO_UUID
from tests.clients.raw import Connection
from tests.clients.requests import (
    await_topic,
    create_topic,
    create_topics_request,
    metadata_request,
    topic_id_of,
)

# Where a config's value comes from, as the protocol numbers it.
DYNAMIC_TOPIC, DEFAULT = 1, 5


def created(connection: Connection, name: str, version: int = 7, **options: Any) -> Any:
    (result,) = connection.ask(create_topics_request(name, **options), version).topics
    return result


def exists(connection: Connection, topic: str) -> bool:
    (found,) = connection.ask(metadata_request(topic), 12).topics
    return bool(found.error_code == Error.NONE)


@pytest.mark.spec("book1:B-05")
@pytest.mark.parametrize("version", range(2, 8))
def test_every_version_creates(connection: Connection, topic_name: str, version: int) -> None:
    """The topic is there with its partitions; from v5 on the answer describes it (KIP-525)."""
    result = created(connection, topic_name, version, partitions=3, replication_factor=1)
    assert (result.error_code, result.name) == (Error.NONE, topic_name)
    await_topic(connection, topic_name, 3)
    if version >= 5:
        assert (result.num_partitions, result.replication_factor) == (3, 1)
        assert {config.name for config in result.configs} >= {"cleanup.policy", "retention.ms"}
    if version >= 7:
        assert result.topic_id == topic_id_of(connection, topic_name) != ZERO_UUID


def test_the_brokers_defaults_fill_in(connection: Connection, topic_name: str) -> None:
    """KIP-464: -1 asks for num.partitions and default.replication.factor."""
    result = created(connection, topic_name, partitions=-1, replication_factor=-1)
    assert (result.error_code, result.num_partitions) == (Error.NONE, 4)
    assert result.replication_factor == 1


def test_configs_are_told_with_their_source(connection: Connection, topic_name: str) -> None:
    """What the request set is the topic's own, the rest comes from elsewhere."""
    result = created(connection, topic_name, config={"cleanup.policy": "compact"})
    configs = {config.name: config for config in result.configs}
    policy, flush = configs["cleanup.policy"], configs["flush.messages"]
    assert (policy.value, policy.config_source) == ("compact", DYNAMIC_TOPIC)
    assert flush.config_source == DEFAULT


def test_a_dry_run_creates_nothing(connection: Connection, topic_name: str) -> None:
    """validate_only gives the same verdict and leaves no trace."""
    assert created(connection, topic_name, validate_only=True).error_code == Error.NONE
    refused = created(connection, topic_name, partitions=0, validate_only=True)
    assert refused.error_code == Error.INVALID_PARTITIONS
    assert not exists(connection, topic_name)


def test_a_taken_name_is_refused(connection: Connection, topic: str) -> None:
    """TOPIC_ALREADY_EXISTS, also in a dry run."""
    assert created(connection, topic).error_code == Error.TOPIC_ALREADY_EXISTS
    result = created(connection, topic, validate_only=True)
    assert result.error_code == Error.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("partitions", [0, -2])
def test_an_impossible_number_of_partitions_is_refused(
    connection: Connection, topic_name: str, partitions: int
) -> None:
    """INVALID_PARTITIONS; nothing is created."""
    result = created(connection, topic_name, partitions=partitions)
    assert result.error_code == Error.INVALID_PARTITIONS
    assert not exists(connection, topic_name)


@pytest.mark.parametrize("replication_factor", [0, 99])
def test_more_replicas_than_brokers_are_refused(
    connection: Connection, topic_name: str, replication_factor: int
) -> None:
    """INVALID_REPLICATION_FACTOR says so at once instead of creating a crippled topic."""
    result = created(connection, topic_name, replication_factor=replication_factor)
    assert result.error_code == Error.INVALID_REPLICATION_FACTOR
    assert not exists(connection, topic_name)


@pytest.mark.parametrize(
    "config",
    [
        {"no.such.config": "1"},
        {"retention.ms": "soon"},
        {"cleanup.policy": "burn"},
        {"min.insync.replicas": "0"},
        {"max.message.bytes": "-5"},
        {"compression.type": "rar"},
    ],
    ids=lambda config: next(iter(config)),
)
def test_a_bad_config_is_refused(
    connection: Connection, topic_name: str, config: Mapping[str, str]
) -> None:
    """INVALID_CONFIG names the key; nothing is created."""
    result = created(connection, topic_name, config=config)
    assert result.error_code == Error.INVALID_CONFIG
    assert next(iter(config)) in result.error_message
    assert not exists(connection, topic_name)


@pytest.mark.parametrize("name", ["", ".", "..", "with space", "sla/sh", "ümlaut", "x" * 250])
def test_an_impossible_name_is_refused(connection: Connection, name: str) -> None:
    """A topic is a folder: letters, digits, '.', '_' and '-', at most 249 of them."""
    assert created(connection, name).error_code == Error.INVALID_TOPIC_EXCEPTION


def test_a_name_that_metrics_could_not_tell_apart_is_refused(
    connection: Connection, topic_name: str
) -> None:
    """Metric names turn '.' into '_', so two topics must not differ in that alone."""
    assert created(connection, f"{topic_name}.x").error_code == Error.NONE
    result = created(connection, f"{topic_name}_x")
    assert result.error_code == Error.INVALID_TOPIC_EXCEPTION


def test_the_longest_name_is_allowed(connection: Connection, topic_name: str) -> None:
    """249 characters leave room for the partition in a folder's name."""
    create_topic(connection, topic_name.ljust(249, "x"))


def test_replicas_can_be_placed_by_hand(connection: Connection, topic_name: str) -> None:
    """An assignment stands instead of the two numbers."""
    (broker,) = connection.ask(metadata_request(), 12).brokers
    placed = {0: [broker.node_id], 1: [broker.node_id]}
    options = {"partitions": -1, "replication_factor": -1}
    assert created(connection, topic_name, assignments=placed, **options).error_code == Error.NONE
    await_topic(connection, topic_name, 2)


@pytest.mark.parametrize(
    "assignments",
    [{0: [9_999]}, {0: []}, {1: [1]}, {0: [1, 1]}],
    ids=["no such broker", "no replica", "a hole", "twice the same"],
)
def test_a_bad_placement_is_refused(
    connection: Connection, topic_name: str, assignments: Mapping[int, list[int]]
) -> None:
    """INVALID_REPLICA_ASSIGNMENT; nothing is created."""
    (broker,) = connection.ask(metadata_request(), 12).brokers
    known = {
        partition: [broker.node_id if each == 1 else each for each in brokers]
        for partition, brokers in assignments.items()
    }
    options = {"partitions": -1, "replication_factor": -1}
    result = created(connection, topic_name, assignments=known, **options)
    assert result.error_code == Error.INVALID_REPLICA_ASSIGNMENT
    assert not exists(connection, topic_name)


def test_numbers_and_placement_exclude_each_other(connection: Connection, topic_name: str) -> None:
    """Both in one request contradict each other: INVALID_REQUEST."""
    result = created(connection, topic_name, partitions=1, assignments={0: [1]})
    assert result.error_code == Error.INVALID_REQUEST


def test_the_same_name_twice_in_a_request_is_refused(
    connection: Connection, topic_name: str
) -> None:
    """Neither of the two is created: INVALID_REQUEST, once."""
    request = create_topics_request(topic_name)
    request.topics += request.topics
    (result,) = connection.ask(request, 7).topics
    assert (result.name, result.error_code) == (topic_name, Error.INVALID_REQUEST)
    assert not exists(connection, topic_name)


def test_one_bad_topic_does_not_spoil_the_others(
    connection: Connection, topic: str, topic_name: str
) -> None:
    """Each topic has its own verdict."""
    request = create_topics_request(topic_name)
    request.topics += create_topics_request(topic).topics
    results = connection.ask(request, 7).topics
    codes = {result.name: result.error_code for result in results}
    assert codes == {topic_name: Error.NONE, topic: Error.TOPIC_ALREADY_EXISTS}
