"""How a client finds the leader it must talk to, step by step."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.metadata import MetadataRequest
from tests.behaviour.application import TIMEOUT_SECONDS
from tests.behaviour.processes import free_port
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import METADATA_VERSION, metadata_request, produced_bytes


@pytest.mark.spec("book2:J-17")
def test_a_client_is_told_about_the_topics_it_names(
    connection: Connection, new_topic: Callable[..., str]
) -> None:
    """The first broker asked tells these topics and no others, and the brokers in any case."""
    wanted, other, unwanted = new_topic(partitions=2), new_topic(), new_topic()
    told = connection.ask(metadata_request(wanted, other), METADATA_VERSION)
    assert {topic.name: len(topic.partitions) for topic in told.topics} == {wanted: 2, other: 1}
    nothing = connection.ask(MetadataRequest(topics=[]), METADATA_VERSION)
    assert nothing.topics == []
    assert [each.node_id for each in nothing.brokers] == [each.node_id for each in told.brokers]
    assert unwanted not in {topic.name for topic in told.topics}


@pytest.mark.spec("book2:J-18")
def test_null_asks_for_all_topics_and_a_flag_for_missing_ones(
    connection: Connection, topic: str, topic_name: str
) -> None:
    """Without the flag a missing topic is an error, with it a topic; null names every topic."""
    (refused,) = connection.ask(metadata_request(topic_name), METADATA_VERSION).topics
    assert refused.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    everything = MetadataRequest(topics=None, allow_auto_topic_creation=True)
    before = {each.name for each in connection.ask(everything, METADATA_VERSION).topics}
    assert topic in before
    assert topic_name not in before
    created = metadata_request(topic_name, auto_create=True)
    (found,) = connection.ask(created, METADATA_VERSION).topics
    assert found.error_code == Error.NONE
    after = {each.name for each in connection.ask(everything, METADATA_VERSION).topics}
    assert after == before | {topic_name}


@pytest.mark.spec("book2:J-19")
def test_a_client_goes_on_to_the_next_address(broker: Broker, topic: str) -> None:
    """An address that refuses and one that never answers do not keep a client from the third."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dead, mute = free_port(), silent.getsockname()[1]
        addresses = f"127.0.0.1:{dead},127.0.0.1:{mute},{broker.bootstrap_servers}"
        admin = AdminClient(
            {
                "bootstrap.servers": addresses,
                "socket.connection.setup.timeout.ms": 1000,
                "log_level": 0,
            }
        )
        found = admin.list_topics(topic, timeout=TIMEOUT_SECONDS)
    assert list(found.topics) == [topic]
    assert [f"{each.host}:{each.port}" for each in found.brokers.values()] == [
        broker.bootstrap_servers
    ]


@pytest.mark.spec("book2:J-20")
def test_a_write_goes_to_the_leader_that_metadata_names(connection: Connection, topic: str) -> None:
    """The leader answers with success and an offset, or with what went wrong."""
    told = connection.ask(metadata_request(topic), METADATA_VERSION)
    addresses = {each.node_id: f"{each.host}:{each.port}" for each in told.brokers}
    leader = addresses[told.topics[0].partitions[0].leader_id]
    batch = batch_of(numbered_records(2))
    with Connection(leader) as direct:
        written = produced_bytes(direct, topic, batch)
        failed = produced_bytes(direct, topic, batch, partition=1)
    assert (written.error_code, written.base_offset) == (Error.NONE, 0)
    assert (failed.error_code, failed.base_offset) == (Error.UNKNOWN_TOPIC_OR_PARTITION, -1)
