"""What brokers refuse, and what an administrator can do about it.

`Refused` is an error that concerns a whole request, `Fault` one of many things that was not done.
The table of remedies is the only one; it names the commands of `headrace`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.client.connection import ConnectionLost, NotKafka, Unreachable, Unsupported
from headrace.client.faults import (
    AuthenticationFailed,
    BrokerRefused,
    NoBroker,
    TimedOut,
    UnknownTopic,
    error_named,
)
from headrace.errors import ConfigError, Error, HeadraceError

IN_ONE_REQUEST: Final = "create at most 10,000 partitions, and add more with topic alter"
_LOOK: Final = 'find the cause with "headrace doctor"'
_REMEDIES: Final = {
    Error.TOPIC_ALREADY_EXISTS: "add --if-not-exists, or change it with topic alter",
    Error.UNKNOWN_TOPIC_OR_PARTITION: 'see "headrace topic list"',
    Error.INVALID_CONFIG: 'see "headrace config describe topic NAME --all" for the keys',
    Error.INVALID_PARTITIONS: "partitions can only be added, at least one",
    Error.POLICY_VIOLATION: "ask who set the policy of the brokers",
    Error.INVALID_REPLICATION_FACTOR: "use at most as many replicas as there are brokers",
    Error.INVALID_TOPIC_EXCEPTION: "use up to 249 letters, digits, dots, underscores and dashes",
    Error.MESSAGE_TOO_LARGE: "raise max.message.bytes of the topic",
    Error.UNSUPPORTED_VERSION: 'compare "headrace cluster api-versions"',
    Error.GROUP_ID_NOT_FOUND: 'see "headrace group list"',
    Error.GROUP_SUBSCRIBED_TO_TOPIC: "stop the members that read this topic first",
    Error.NON_EMPTY_GROUP: "stop its members first",
    Error.UNKNOWN_MEMBER_ID: 'see "headrace group describe GROUP --members"',
    Error.TRANSACTIONAL_ID_NOT_FOUND: 'see "headrace transaction list"',
    Error.INVALID_PRODUCER_EPOCH: "the transaction has ended in the meantime; list it again",
    Error.CONCURRENT_TRANSACTIONS: "its transaction is still being ended; try again",
    Error.INVALID_TRANSACTION_TIMEOUT: "lower -X transaction.timeout.ms",
    Error.COORDINATOR_NOT_AVAILABLE: _LOOK,
    Error.BROKER_NOT_AVAILABLE: _LOOK,
    Error.NETWORK_EXCEPTION: _LOOK,
    Error.REQUEST_TIMED_OUT: _LOOK,
    Error.SASL_AUTHENTICATION_FAILED: "check sasl.username and sasl.password given with -X",
    Error.TOPIC_AUTHORIZATION_FAILED: "the user needs a permission for this topic",
    Error.GROUP_AUTHORIZATION_FAILED: "the user needs a permission for this group",
    Error.CLUSTER_AUTHORIZATION_FAILED: "the user needs a permission for the cluster",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "the user needs a permission for this id",
}


_OF_CLIENT: Final[tuple[tuple[type[HeadraceError], Error], ...]] = (
    (UnknownTopic, Error.UNKNOWN_TOPIC_OR_PARTITION),
    (AuthenticationFailed, Error.SASL_AUTHENTICATION_FAILED),
    (Unsupported, Error.UNSUPPORTED_VERSION),
    (NoBroker, Error.BROKER_NOT_AVAILABLE),
    (Unreachable, Error.BROKER_NOT_AVAILABLE),
    (NotKafka, Error.BROKER_NOT_AVAILABLE),
    (ConfigError, Error.BROKER_NOT_AVAILABLE),
    (TimedOut, Error.REQUEST_TIMED_OUT),
    (ConnectionLost, Error.NETWORK_EXCEPTION),
)


class Refused(HeadraceError):
    """A broker answered with an error that concerns the whole request."""

    def __init__(self, code: int, message: str | None) -> None:
        self.error = error_named(code)
        self.said = message or ""
        super().__init__(message or in_words(self.error))


class Fault(NamedTuple):
    """Why one of many things was not done; the message is empty where the broker gave none."""

    error: Error
    message: str


def in_words(error: Error) -> str:
    """An error that a broker gave no words to."""
    return f"the broker answers {error.name}"


def error_of(error: HeadraceError) -> Error:
    """What a broker refused with, or what Kafka calls that with which the client gave up."""
    if isinstance(error, Refused | BrokerRefused):
        return error.error
    named = (name for kind, name in _OF_CLIENT if isinstance(error, kind))
    return next(named, Error.UNKNOWN_SERVER_ERROR)


def remedy_of(error: Error, said: str = "") -> str:
    """What to do about an error that a broker gave with these words."""
    if error is Error.POLICY_VIOLATION and "partition" in said:
        return IN_ONE_REQUEST
    return _REMEDIES.get(error, f"the broker says {error.name}")


def raise_for(code: int, message: str | None) -> None:
    """`Refused` unless the code is zero."""
    if code != Error.NONE:
        raise Refused(code, message)


def fault_in(code: int, message: str | None = None) -> Fault | None:
    """The error of one of many answers; None if it is none."""
    return None if code == Error.NONE else Fault(error_named(code), message or "")
