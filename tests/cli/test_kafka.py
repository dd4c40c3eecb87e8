"""The errors of librdkafka in words that help."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from headrace.cli.kafka import explain
from headrace.cli.target import parse_target


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            "50000 partitions in one request; at most 10000 are allowed.",
            "at most 10,000 partitions",
        ),
        ("Topics must not be compacted", "ask who set the policy of the brokers"),
    ],
)
def test_a_policy_is_not_always_about_partitions(said: str, remedy: str) -> None:
    """The limit of one request is a remedy only where the broker speaks of partitions."""
    error = KafkaError(KafkaError.POLICY_VIOLATION, said)
    failure = explain(error, parse_target("127.0.0.1:1", []), 'topic "orders"')
    assert said.rstrip(".") in str(failure)
    assert remedy in str(failure)
    assert ("10,000" in str(failure)) == ("partitions" in said)
