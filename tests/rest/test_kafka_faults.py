"""Errors of Kafka as codes of the API, where a test's broker cannot be made to give them."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from headrace.errors import Error
from headrace.rest.kafka_faults import produce_code, rest_error


@pytest.mark.parametrize(
    ("kafka", "status", "code"),
    [
        (KafkaError._UNKNOWN_TOPIC, 404, 40401),
        (Error.INVALID_TOPIC_EXCEPTION, 404, 40401),
        (KafkaError._UNKNOWN_PARTITION, 404, 40402),
        (Error.LEADER_NOT_AVAILABLE, 404, 40404),
        (KafkaError._AUTHENTICATION, 401, 40101),
        (Error.SASL_AUTHENTICATION_FAILED, 401, 40101),
        (Error.TOPIC_AUTHORIZATION_FAILED, 403, 40301),
        (Error.GROUP_AUTHORIZATION_FAILED, 403, 40301),
        (Error.CLUSTER_AUTHORIZATION_FAILED, 403, 40301),
        (KafkaError._ALL_BROKERS_DOWN, 503, 50003),
        (Error.NOT_ENOUGH_REPLICAS, 503, 50003),
        (Error.INVALID_CONFIG, 500, 50002),
    ],
)
def test_a_call_that_failed_as_a_whole(kafka: int, status: int, code: int) -> None:
    """The status and the code of the table, by what went wrong."""
    told = rest_error(KafkaError(int(kafka)))
    assert (told.http_status, told.error_code) == (status, code)
    assert told.message


@pytest.mark.parametrize(
    ("kafka", "code"),
    [
        (Error.TOPIC_AUTHORIZATION_FAILED, 40301),
        (KafkaError._AUTHENTICATION, 40101),
        (KafkaError._MSG_TIMED_OUT, 50003),
        (Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 50003),
        (Error.MESSAGE_TOO_LARGE, 50002),
    ],
)
def test_a_record_that_was_not_taken(kafka: int, code: int) -> None:
    """The code in its place of `offsets`: another attempt may succeed, or not."""
    assert produce_code(int(kafka)) == code
