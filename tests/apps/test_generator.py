"""The generator against a broker."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import pytest
from confluent_kafka import KafkaException, Producer

from examples.ip_fraud.generator import Timer, generate, generator_settings
from examples.ip_fraud.properties import PropertyReader, load_properties
from examples.ip_fraud.traffic import Plan, batches, truth_of
from examples.java_settings import open_client
from tests.apps.reading import read_topic


@dataclass
class HandClock:
    """A clock that moves only when somebody sleeps."""

    now_s: float = 100.0
    slept: list[float] = field(default_factory=list)

    def timer(self) -> Timer:
        return Timer(lambda: self.now_s, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@pytest.mark.spec("book2:A1-02", "book2:A1-04", "book2:A1-07", "book2:A2-04", "book2:A2-12")
def test_ticks_fill_the_topic(servers: str) -> None:
    """Each tick sends every line of the template, without a key, to a topic the broker makes."""
    clock = HandClock()
    properties = PropertyReader("streaming.properties")
    topic = properties.get("topic")
    assert topic is not None
    plan = Plan(seed=5, ticks=3)
    sent = generate(generator_settings(servers), topic, plan, clock.timer())
    assert clock.slept == [3.0, 3.0, 3.0]
    found = read_topic(servers, topic)
    expected = [request.text for batch in batches(plan) for request in batch.requests]
    assert sorted(record.text for record in found) == sorted(expected)
    assert len(found) == sent == truth_of(plan).records
    assert {record.key for record in found} == {None}


@pytest.mark.spec("book2:A1-06")
def test_unknown_settings_are_said_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """A setting of brokers among a producer's is a warning; a wrong value still is an error."""
    settings = {
        "bootstrap.servers": "127.0.0.1:1",
        "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        "auto.create.topics.enable": "true",
    }
    with caplog.at_level(logging.WARNING):
        open_client(Producer, settings)
    assert "does not know auto.create.topics.enable" in caplog.text
    with pytest.raises(KafkaException, match="acks"):
        open_client(Producer, settings | {"acks": "some"})


@pytest.mark.spec("book2:A1-08", "book2:A2-03")
def test_the_settings_of_the_generator() -> None:
    """Keys that are missing are None, not an error."""
    reader = PropertyReader("streaming.properties")
    found = {key: reader.get(key) for key in ("topic", "broker.list", "appname", "group.id")}
    assert found == {
        "topic": "iprecord",
        "broker.list": "localhost:9092",
        "appname": "IpFraud",
        "group.id": "Stream",
    }
    assert reader.get("no.such.key") is None


@pytest.mark.spec("book2:A1-15")
def test_a_file_that_cannot_be_read(
    tmp_path_factory: pytest.TempPathFactory, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said in the log and leaves no key set."""
    folder = tmp_path_factory.mktemp("properties")
    assert load_properties(folder / "missing.properties") == {}
    assert "missing.properties cannot be read" in caplog.text
    (folder / "good.properties").write_text("# note\n\n a = b=c \nempty=\n! other note\n")
    assert load_properties(folder / "good.properties") == {"a": "b=c", "empty": ""}
