"""Settings of workers: those of Kafka, files of the book, and what goes on to the clients."""

from __future__ import annotations

import pytest

from headrace.java.properties import parse_properties
from headrace.pipelines.connect.config.report import key_info
from headrace.pipelines.connect.config.worker import StateTopic, distributed, standalone
from headrace.pipelines.connect.config.worker_keys import DISTRIBUTED, STANDALONE
from headrace.pipelines.connect.faults import ConfigException
from tests.pipelines.connect.real import Real

# What the worker hands on: settings of Kafka's clients, of TLS, and of metrics in a JVM.
CLIENTS = (
    "client.",
    "connections.",
    "metadata.",
    "metric",
    "receive.",
    "reconnect.",
    "request.",
    "retry.",
    "sasl.",
    "security.",
    "send.",
    "socket.",
    "ssl.",
)
# A setting of the policy Allowlist, which Kafka declares in the policy's own class.
ALLOWLIST = "connector.client.config.override.allowlist"

AVRO_STANDALONE = """
# Sample configuration for a standalone Kafka Connect worker that uses Avro serialization
bootstrap.servers=localhost:9092
key.converter=io.confluent.connect.avro.AvroConverter
key.converter.schema.registry.url=http://localhost:8081
value.converter=io.confluent.connect.avro.AvroConverter
value.converter.schema.registry.url=http://localhost:8081
internal.key.converter=org.apache.kafka.connect.json.JsonConverter
internal.value.converter=org.apache.kafka.connect.json.JsonConverter
internal.key.converter.schemas.enable=false
internal.value.converter.schemas.enable=false
offset.storage.file.filename=/tmp/connect.offsets
"""

CLUSTER = {
    "bootstrap.servers": "one:9092, two:9092",
    "group.id": "connect",
    "key.converter": "JsonConverter",
    "value.converter": "JsonConverter",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}


@pytest.mark.parametrize("kind", ["standalone", "distributed"])
def test_keys_are_those_of_connect(real: Real, kind: str) -> None:
    """Each key of Kafka's worker is declared alike, or is one that the clients get."""
    told = real.ask({"definitions": kind})
    assert isinstance(told, list)
    theirs = {each[0]: tuple(each[1:]) for each in told if not each[0].startswith(CLIENTS)}
    definition = STANDALONE if kind == "standalone" else DISTRIBUTED
    ours = {
        key.name: (key.type, key.default_value, key.importance, key.required)
        for key in map(key_info, definition.keys)
        if not key.name.startswith("headrace.") and key.name != ALLOWLIST
    }
    assert ours == theirs
    assert all(key.doc for key in definition.keys)


@pytest.mark.spec("book2:A4-04", "book2:A5-03", "book2:A6-03", "admin:CN-05", "admin:CN-06")
def test_the_worker_file_of_the_book() -> None:
    """It is taken as it is, with keys that workers of today do not have."""
    worker = standalone(parse_properties(AVRO_STANDALONE))
    assert worker.text("offset.storage.file.filename") == "/tmp/connect.offsets"
    assert worker.under("key.converter.") == {"schema.registry.url": "http://localhost:8081"}
    assert worker.traits.converters == {
        "key.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter",
    }
    assert not worker.exactly_once


@pytest.mark.spec("admin:CN-04")
def test_a_distributed_worker() -> None:
    """Topics of the cluster's state, and settings of the clients under their prefixes."""
    worker = distributed(
        CLUSTER
        | {
            "producer.acks": "1",
            "consumer.security.protocol": "SSL",
            "security.protocol": "SASL_SSL",
            "config.storage.min.insync.replicas": "2",
            "exactly.once.source.support": "Enabled",
        }
    )
    assert worker.client("producer") == {"bootstrap.servers": "one:9092,two:9092", "acks": "1"}
    assert worker.client("consumer")["security.protocol"] == "SSL"
    assert worker.own_client()["security.protocol"] == "SASL_SSL"
    assert "producer.acks" not in worker.own_client()
    assert worker.state_topic("config") == StateTopic("c", 1, 3, {"min.insync.replicas": "2"})
    assert worker.state_topic("offset") == StateTopic("o", 25, 3, {})
    assert worker.state_topic("status") == StateTopic("s", 5, 3, {})
    assert worker.exactly_once
    assert worker.traits.group_id == "connect"
    assert worker.listed("listeners") == ["http://:8083"]
    assert worker.flag("topic.creation.enable")
    assert worker.number("scheduled.rebalance.max.delay.ms") == 300_000


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"group.id": None}, 'Missing required configuration "group.id"'),
        (
            {"listeners": "localhost:8083"},
            "Invalid value localhost:8083 for configuration listeners",
        ),
        ({"listeners": "http://h:x"}, "Expected http:// or https://"),
        ({"connect.protocol": "other"}, "String must be one of: eager, compatible, sessioned"),
        ({"offset.storage.partitions": "0"}, "Number of partitions must be positive"),
        ({"status.storage.replication.factor": "0"}, "Replication factor must be positive"),
        ({"inter.worker.signature.algorithm": "HmacSHA1"}, "must be present in"),
        ({"inter.worker.verification.algorithms": "MD5"}, "the algorithms of this worker are"),
        ({"connector.client.config.override.policy": "Some"}, "the policies are All, None"),
        ({"scheduled.rebalance.max.delay.ms": "-1"}, "Value must be at least 0"),
        ({"headrace.runtime": "cloud"}, "String must be one of: thread, process, spark"),
    ],
)
def test_what_a_worker_does_not_start_with(changed: dict[str, str | None], said: str) -> None:
    """The first setting that is wrong is named, with what it may be."""
    given = {key: value for key, value in {**CLUSTER, **changed}.items() if value is not None}
    with pytest.raises(ConfigException) as fault:
        distributed(given)
    assert said in str(fault.value)
