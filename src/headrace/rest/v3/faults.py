"""Errors of Kafka as the status, code and text that version 3 documents for them.

The table is the whole knowledge: who is at fault decides the status, and the code says what to do
(40002 mend the request, 50003 try again). Nothing here sends or asks anything.
"""

from __future__ import annotations

from typing import Final

from headrace.admin.faults import Refused, error_of
from headrace.client.connection import ConnectionLost
from headrace.client.faults import BrokerRefused, OffsetOutOfRange, TimedOut, error_named
from headrace.errors import Error, HeadraceError
from headrace.rest.errors import (
    KAFKA_AUTHENTICATION,
    KAFKA_AUTHORIZATION,
    KAFKA_ERROR,
    KAFKA_RETRIABLE_ERROR,
    RestError,
)
from headrace.rest.kafka_faults import (
    AUTHENTICATION,
    UNKNOWN_PARTITION,
    UNKNOWN_TOPIC,
    is_retriable,
)

BAD_REQUEST: Final = 400
KAFKA_BAD_REQUEST: Final = 40002
UNKNOWN_TOPIC_OR_PARTITION: Final = 40403
TOO_MANY_REQUESTS: Final = 42901
BROKER_NOT_AVAILABLE: Final = 50302

_UNSUPPORTED_FEATURE: Final = -165
_CLIENT_FAULTS: Final = frozenset(
    {
        Error.DUPLICATE_RESOURCE,
        Error.GROUP_SUBSCRIBED_TO_TOPIC,
        Error.INVALID_CONFIG,
        Error.INVALID_GROUP_ID,
        Error.INVALID_PARTITIONS,
        Error.INVALID_RECORD,
        Error.INVALID_REPLICA_ASSIGNMENT,
        Error.INVALID_REPLICATION_FACTOR,
        Error.INVALID_REQUEST,
        Error.INVALID_TIMESTAMP,
        Error.INVALID_TOPIC_EXCEPTION,
        Error.NON_EMPTY_GROUP,
        Error.POLICY_VIOLATION,
        Error.SECURITY_DISABLED,
        Error.TOPIC_ALREADY_EXISTS,
        Error.TOPIC_DELETION_DISABLED,
        Error.UNKNOWN_SERVER_ERROR,
        Error.UNSUPPORTED_VERSION,
    }
)
_TEXTS: Final = {
    Error.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Error.SECURITY_DISABLED: "No Authorizer is configured on the broker",
    Error.TOPIC_ALREADY_EXISTS: "The topic already exists.",
}


def of_code(code: int, message: str | None = None) -> RestError:
    """What to answer where a broker answered with this code."""
    error = error_named(code)
    text = message or _TEXTS.get(error) or error.name
    if error in (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID):
        return RestError(404, UNKNOWN_TOPIC_OR_PARTITION, text)
    if error is Error.SASL_AUTHENTICATION_FAILED:
        return RestError(401, KAFKA_AUTHENTICATION, text)
    if error.name.endswith("_AUTHORIZATION_FAILED"):
        return RestError(403, KAFKA_AUTHORIZATION, text)
    if error in (Error.MESSAGE_TOO_LARGE, Error.RECORD_LIST_TOO_LARGE):
        return RestError(413, 413, text)
    if error is Error.THROTTLING_QUOTA_EXCEEDED:
        return RestError(429, TOO_MANY_REQUESTS, text)
    if error is Error.BROKER_NOT_AVAILABLE:
        return RestError(503, BROKER_NOT_AVAILABLE, text)
    if error in _CLIENT_FAULTS:
        return RestError(400, KAFKA_BAD_REQUEST, text)
    return RestError(500, KAFKA_RETRIABLE_ERROR if error.retriable else KAFKA_ERROR, text)


def of_librdkafka(code: int, message: str) -> RestError:
    """What to answer where librdkafka gives this code; negative ones are its own."""
    if code >= 0 or code == Error.UNKNOWN_SERVER_ERROR:
        return of_code(code, message)
    if code in (UNKNOWN_TOPIC, UNKNOWN_PARTITION):
        return of_code(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if code == AUTHENTICATION:
        return RestError(401, KAFKA_AUTHENTICATION, message)
    if code == _UNSUPPORTED_FEATURE:
        return of_code(Error.UNSUPPORTED_VERSION, message)
    if is_retriable(code):
        return RestError(503, KAFKA_RETRIABLE_ERROR, message)
    return RestError(500, KAFKA_ERROR, message)


def of_client(error: HeadraceError) -> RestError:
    """What to answer where our client gave up, or a broker refused its question."""
    text = str(error)
    if isinstance(error, RestError):
        return error
    if isinstance(error, OffsetOutOfRange):
        return RestError(416, 41601, text)
    if isinstance(error, TimedOut | ConnectionLost):
        return RestError(503, KAFKA_RETRIABLE_ERROR, text)
    named = error_of(error)
    if named is Error.UNKNOWN_TOPIC_OR_PARTITION:
        return of_code(named)
    if isinstance(error, Refused):
        return of_code(named, error.said)
    if named is Error.UNKNOWN_SERVER_ERROR and not isinstance(error, BrokerRefused):
        return RestError(500, KAFKA_ERROR, text)
    return of_code(named, text)


def not_found(message: str) -> RestError:
    """A resource of this proxy that does not exist, as opposed to one that Kafka denies."""
    return RestError(404, 404, message)


def bad_request(message: str) -> RestError:
    """The request itself is wrong, before any broker has seen it."""
    return RestError(400, BAD_REQUEST, message)
