"""A million records there and back, with fewer records."""

from __future__ import annotations

import subprocess
import sys

import pytest
from confluent_kafka import Producer

from examples import round_trip
from headrace.errors import HeadraceError
from headrace.testing import Broker


def test_the_round_trip_ends_well() -> None:
    """Its own process, its own broker, every record compared, exit code 0."""
    done = subprocess.run(
        [sys.executable, "-m", "examples.round_trip", "--records", "20000", "--partitions", "3"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "all 20,000 records came back as written, in order; 3 partitions" in done.stdout


def test_a_difference_is_found(headrace_broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """One wrong record among many is a failure that names its place."""
    monkeypatch.setattr(round_trip, "TOPIC", "demo-difference")
    servers = headrace_broker.bootstrap_servers
    round_trip.create_topic(servers, 2)
    producer = Producer({"bootstrap.servers": servers})
    for number in range(100):
        value = round_trip.value_of(number + (number == 61), 50)
        producer.produce("demo-difference", value, round_trip.key_of(number), number % 2)
    producer.flush(10)
    with pytest.raises(HeadraceError, match="partition 1 offset 30 holds"):
        round_trip.read_back(servers, 100, 2, 50)
