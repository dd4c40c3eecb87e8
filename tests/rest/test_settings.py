"""Settings of the proxy: Confluent's names, what they become, what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from headrace.errors import ConfigError
from headrace.http.listeners import Listener
from headrace.rest.librdkafka import consumer_properties, producer_properties
from headrace.rest.settings import rest_settings


def test_a_file_of_confluents_is_read_as_it_is() -> None:
    """Names, prefixes, and keys of the JVM that have no effect; unknown ones are reported."""
    settings, unknown = rest_settings(
        {
            "id": "kafka-rest-1",
            "listeners": "http://0.0.0.0:8082,https://[::1]:8083",
            "ssl.keystore.location": "/x.pem",
            "bootstrap.servers": "PLAINTEXT://b1:9092,b2:9093",
            "schema.registry.url": "http://u:p@sr:8081",
            "zookeeper.connect": "localhost:2181",
            "consumer.request.timeout.ms": "2000",
            "consumer.max.poll.interval.ms": "60000",
            "producer.acks": "all",
            "producer.buffer.memory": "1048576",
            "producer.enable.idempotence": "false",
            "client.security.protocol": "SASL_PLAINTEXT",
            "client.sasl.username": "u",
            "client.sasl.password": "p",
            "confluent.license": "",
            "colour": "blue",
        }
    )
    assert settings.listeners == (
        Listener("http", "0.0.0.0", 8082),
        Listener("https", "::1", 8083),
    )
    assert settings.kafka.bootstrap_servers == (("b1", 9092), ("b2", 9093))
    assert settings.registry.urls == ("http://sr:8081",)
    assert settings.registry.user_info == "u:p"
    assert settings.consumer_request_timeout_ms == 2000
    assert unknown == ("colour", "producer.enable.idempotence")
    producer = producer_properties(settings.kafka, settings.producer)
    assert producer["bootstrap.servers"] == "b1:9092,b2:9093"
    assert (producer["acks"], producer["queue.buffering.max.kbytes"]) == ("all", "1024")
    assert (producer["sasl.username"], producer["enable.idempotence"]) == ("u", True)
    consumer = consumer_properties(settings.kafka, settings.consumer)
    assert consumer["max.poll.interval.ms"] == "60000"
    assert consumer["enable.auto.offset.store"] is False


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("listeners", ""),
        ("listeners", "ftp://h:1"),
        ("listeners", "http://h"),
        ("listeners", "http://h:99999"),
        ("listeners", "https://h:1"),
        ("peers", "h:1"),
        ("consumer.threads", "0"),
        ("consumer.request.timeout.ms", "soon"),
        ("rate.limit.enable", "yes"),
        ("peer.discovery", "zookeeper"),
        ("authentication.method", "BEARER"),
        ("authentication.method", "BASIC"),
        ("schema.registry.url", "sr:8081"),
        ("schema.registry.url", ""),
        ("bootstrap.servers", ""),
    ],
)
def test_a_wrong_value_names_its_key(name: str, text: str) -> None:
    """And what is allowed."""
    with pytest.raises(ConfigError, match=name.split(".")[0]):
        rest_settings({name: text})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "nonsense"], "--set 'nonsense' has no value"),
        (["--set", "listeners=x"], "listeners='x'"),
        (["/nowhere.properties"], "/nowhere.properties cannot be read"),
    ],
)
def test_a_wrong_start_is_one_line(words: list[str], said: str) -> None:
    """Exit code 1 and the reason, no trace."""
    done = subprocess.run(
        [sys.executable, "-m", "headrace.rest", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    """The address, the reason, the remedy."""
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        file = tmp_path / "kafka-rest.properties"
        file.write_text(f"listeners=http://127.0.0.1:{taken.getsockname()[1]}\n")
        done = subprocess.run(
            [sys.executable, "-m", "headrace.rest", str(file)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert "cannot be listened on" in done.stderr
