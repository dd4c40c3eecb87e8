"""`headrace bench` against a live broker: small runs, exact counts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from headrace.testing import Broker
from tests.cli.conftest import Headrace
from tests.client.listeners import unused_port


def topics(live: Headrace) -> set[str]:
    return {row["topic"] for row in json.loads(live("topic", "list", "-o", "json").out)}


def test_throughput_writes_and_reads_everything(live: Headrace, tmp_path: Path) -> None:
    """As many records come back as were written; the topic is gone; a picture is there."""
    picture = tmp_path / "bench.png"
    words = ["--records", "2000", "--size", "1KB", "--partitions", "2", "--compression", "lz4"]
    outcome = live("bench", "throughput", *words, "--plot", str(picture), "-o", "json")
    assert outcome.code == 0, outcome.err
    written, read = json.loads(outcome.out)
    assert (written["phase"], written["records"], written["failed"]) == ("produce", 2000, 0)
    assert (read["phase"], read["records"]) == ("consume", 2000)
    assert written["p50_ms"] <= written["p99_ms"] <= written["max_ms"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not any(name.startswith("headrace-bench") for name in topics(live))


@pytest.mark.spec("slides:P05")
def test_latency_keeps_its_rate(live: Headrace, topic: str) -> None:
    """200 records at 400 a second take half a second, however fast they are acknowledged."""
    words = ["--rate", "400", "--seconds", "0.5", "--topic", topic, "-o", "json"]
    (told,) = json.loads(live("bench", "latency", *words).out)
    assert told["records"] == 200
    assert told["seconds"] >= 0.49
    assert 0 < told["p50_ms"] <= told["max_ms"]
    assert topic in topics(live)


@pytest.mark.spec("slides:P05")
def test_end_to_end_times_every_record(live: Headrace) -> None:
    """From produce to the consumer's hands, on several partitions."""
    words = ["--records", "50", "--partitions", "2", "--size", "10", "--acks", "1"]
    text = live("bench", "end-to-end", *words).out
    head, row = text.splitlines()
    assert head.split()[-1] == "MAX-MS"
    assert row.startswith("end to end")
    (data,) = json.loads(live("bench", "end-to-end", *words, "-o", "json").out)
    assert data["records"] == 50
    assert 0 < data["p50_ms"] <= data["max_ms"]


@pytest.mark.spec("admin:MO-09")
def test_throughput_is_a_rate_and_latency_goes_from_write_to_read(live: Headrace) -> None:
    """Records by seconds; a consumer that is let wait for its data makes every record late."""
    words = ["--records", "2000", "--size", "1KB", "-o", "json"]
    for told in json.loads(live("bench", "throughput", *words).out):
        assert told["records"] / told["records_s"] == pytest.approx(told["seconds"], abs=0.001)
        assert told["mb_s"] == pytest.approx(told["records_s"] * 1000 / 1e6, rel=0.01)
    late = ["-X", "fetch.min.bytes=1000000", "-X", "fetch.wait.max.ms=500"]
    words = ["--records", "5", "-o", "json"]
    (waited,) = json.loads(live("bench", "end-to-end", *words, *late).out)
    assert waited["p50_ms"] > 400


@pytest.mark.spec("admin:MO-09")
def test_recovery_time_is_from_the_crash_until_the_last_record_can_be_read(tmp_path: Path) -> None:
    """kill -9 with 20,000 records that were acknowledged: all are back, and it can be timed."""
    with Broker(data=tmp_path) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(20_000):
            producer.produce("kept", b"%d" % number, partition=0)
        assert producer.flush(30) == 0
        broker.kill()
        began = time.monotonic()
        broker.start()
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "unused"})
        consumer.assign([TopicPartition("kept", 0, 19_999)])
        (last,) = consumer.consume(1, 30)
        recovery_s = time.monotonic() - began
        assert consumer.get_watermark_offsets(TopicPartition("kept", 0)) == (0, 20_000)
        consumer.close()
    assert last.value() == b"19999"
    assert 0 < recovery_s < 60


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["--size", "huge"], 2, "--size"),
        (["--records", "0"], 2, "--records"),
        (["--topic", "absent-topic"], 1, 'there is no topic "absent-topic"'),
        (["--compression", "rar"], 1, "the client rejects its settings"),
        (["--records", "1", "--plot", "/dev/null/x.png"], 1, "cannot be written"),
        (["--replicas", "9", "--records", "1"], 1, "replica"),
    ],
)
def test_what_cannot_be_measured_is_told(
    live: Headrace, words: list[str], code: int, complaint: str
) -> None:
    """One line, and no topic is left behind."""
    outcome = live("bench", "throughput", *words)
    assert outcome.code == code
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1
    assert not any(name.startswith("headrace-bench") for name in topics(live))


def test_nobody_to_measure(headrace: Headrace) -> None:
    """The address and the remedy."""
    outcome = headrace("bench", "latency", "-b", f"127.0.0.1:{unused_port()}")
    assert outcome.code == 1
    assert "refused the connection" in outcome.err
