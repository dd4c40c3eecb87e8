"""Errors of librdkafka and of our own client as errors of versions 1 and 2; asks nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from headrace.admin.faults import error_of
from headrace.errors import Error, HeadraceError
from headrace.rest import errors
from headrace.rest.errors import RestError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

# librdkafka's own codes are negative. Those that pass by themselves or with another attempt:
_TRANSPORT: Final = -195
_ALL_BROKERS_DOWN: Final = -187
_MSG_TIMED_OUT: Final = -192
_TIMED_OUT: Final = -185
_QUEUE_FULL: Final = -184
_WAIT_COORD: Final = -180
_TIMED_OUT_QUEUE: Final = -166
_PURGE_QUEUE: Final = -152
_PURGE_INFLIGHT: Final = -151
_PASSING: Final = frozenset(
    {
        _TRANSPORT,
        _ALL_BROKERS_DOWN,
        _MSG_TIMED_OUT,
        _TIMED_OUT,
        _QUEUE_FULL,
        _WAIT_COORD,
        _TIMED_OUT_QUEUE,
        _PURGE_QUEUE,
        _PURGE_INFLIGHT,
    }
)
UNKNOWN_TOPIC: Final = -188
UNKNOWN_PARTITION: Final = -190
AUTHENTICATION: Final = -169
_FORBIDDEN: Final = frozenset(
    {
        Error.TOPIC_AUTHORIZATION_FAILED,
        Error.GROUP_AUTHORIZATION_FAILED,
        Error.CLUSTER_AUTHORIZATION_FAILED,
    }
)


def is_retriable(code: int) -> bool:
    """Whether the same request may succeed later."""
    return code in _PASSING or (code > 0 and code in _RETRIABLE_CODES)


_RETRIABLE_CODES: Final = frozenset(int(error) for error in Error if error.retriable)


def produce_code(code: int) -> int:
    """The error code of one record in the answer to a produce."""
    if code in (AUTHENTICATION, Error.SASL_AUTHENTICATION_FAILED):
        return errors.KAFKA_AUTHENTICATION
    if code in _FORBIDDEN:
        return errors.KAFKA_AUTHORIZATION
    return errors.KAFKA_RETRIABLE_ERROR if is_retriable(code) else errors.KAFKA_ERROR


def rest_error(error: KafkaError) -> RestError:
    """What to answer where a call of librdkafka failed as a whole."""
    return _answer(error.code(), error.str())


def of_client(error: HeadraceError) -> RestError:
    """What to answer where our own client gave up, or a broker refused its question."""
    if isinstance(error, RestError):
        return error
    named = error_of(error)
    if named is Error.BROKER_NOT_AVAILABLE:
        return errors.kafka_error(str(error), retriable=True)
    return _answer(named, str(error))


def _answer(code: int, text: str) -> RestError:
    if code in (UNKNOWN_TOPIC, Error.UNKNOWN_TOPIC_OR_PARTITION, Error.INVALID_TOPIC_EXCEPTION):
        return errors.topic_not_found()
    if code == UNKNOWN_PARTITION:
        return errors.partition_not_found()
    if code == Error.LEADER_NOT_AVAILABLE:
        return errors.leader_not_available()
    if code in (AUTHENTICATION, Error.SASL_AUTHENTICATION_FAILED):
        return errors.kafka_unauthenticated(text)
    if code in _FORBIDDEN:
        return errors.kafka_forbidden(text)
    return errors.kafka_error(text, retriable=is_retriable(code))
