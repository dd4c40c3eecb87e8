"""Errors of Kafka as codes of the API, where a test's broker cannot be made to give them."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from headrace.admin.faults import Refused
from headrace.client.connection import ConnectionLost, Unreachable, Unsupported
from headrace.client.faults import AuthenticationFailed, NoBroker, TimedOut, UnknownTopic
from headrace.errors import Error, HeadraceError
from headrace.rest.kafka_faults import of_client, produce_code, rest_error
from headrace.rest.v3 import faults


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


@pytest.mark.parametrize(
    ("error", "v2", "v3"),
    [
        (UnknownTopic("t", "no topic"), (404, 40401), (404, 40403)),
        (Refused(Error.UNKNOWN_TOPIC_OR_PARTITION, "gone"), (404, 40401), (404, 40403)),
        (Refused(Error.LEADER_NOT_AVAILABLE, None), (404, 40404), (500, 50003)),
        (Refused(Error.CLUSTER_AUTHORIZATION_FAILED, None), (403, 40301), (403, 40301)),
        (Refused(Error.UNKNOWN_SERVER_ERROR, "odd"), (500, 50002), (400, 40002)),
        (AuthenticationFailed("who"), (401, 40101), (401, 40101)),
        (Unsupported("too old"), (500, 50002), (400, 40002)),
        (NoBroker("nobody"), (503, 50003), (503, 50302)),
        (Unreachable(Unreachable.REFUSED, "nobody"), (503, 50003), (503, 50302)),
        (TimedOut("slow"), (503, 50003), (503, 50003)),
        (ConnectionLost("cut"), (503, 50003), (503, 50003)),
        (HeadraceError("odd"), (500, 50002), (500, 50002)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, HeadraceError) else None,
)
def test_a_question_that_was_not_answered(
    error: HeadraceError, v2: tuple[int, int], v3: tuple[int, int]
) -> None:
    """The same failure of our own client in the codes of both versions."""
    for told, expected in ((of_client(error), v2), (faults.of_client(error), v3)):
        assert (told.http_status, told.error_code) == expected
