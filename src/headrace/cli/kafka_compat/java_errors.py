"""Kafka's errors as its Java client names and words them: scripts look for both.

Only what administrative tools meet has its words here; anything else is told by its name.
"""

from __future__ import annotations

from typing import Final

from headrace.admin.faults import Fault, Refused
from headrace.cli.failures import Failure
from headrace.client.connection import Unsupported
from headrace.client.faults import BrokerRefused
from headrace.errors import Error, HeadraceError

_PACKAGE: Final = "org.apache.kafka.common.errors."
# Where the name of the class is not that of the error.
_CLASSES: Final = {
    Error.UNKNOWN_SERVER_ERROR: "UnknownServerException",
    Error.REQUEST_TIMED_OUT: "TimeoutException",
    Error.TOPIC_AUTHORIZATION_FAILED: "TopicAuthorizationException",
    Error.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
    Error.CLUSTER_AUTHORIZATION_FAILED: "ClusterAuthorizationException",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "TransactionalIdAuthorizationException",
    Error.TOPIC_ALREADY_EXISTS: "TopicExistsException",
    Error.INVALID_CONFIG: "InvalidConfigurationException",
    Error.KAFKA_STORAGE_ERROR: "KafkaStorageException",
    Error.NON_EMPTY_GROUP: "GroupNotEmptyException",
}
_WORDS: Final = {
    Error.OFFSET_OUT_OF_RANGE: "The requested offset is not within the range of offsets "
    "maintained by the server.",
    Error.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    Error.INVALID_TOPIC_EXCEPTION: "The request attempted to perform an operation on an invalid "
    "topic.",
    Error.REQUEST_TIMED_OUT: "The request timed out.",
    Error.INVALID_GROUP_ID: "The group id is invalid.",
    Error.UNKNOWN_MEMBER_ID: "The coordinator is not aware of this member.",
    Error.GROUP_ID_NOT_FOUND: "The group id does not exist.",
    Error.NON_EMPTY_GROUP: "The group is not empty.",
    Error.GROUP_SUBSCRIBED_TO_TOPIC: "Deleting offsets of a topic is forbidden while the consumer "
    "group is actively subscribed to it.",
    Error.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    Error.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    Error.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    Error.TRANSACTIONAL_ID_NOT_FOUND: "The transactionalId could not be found",
    Error.UNSUPPORTED_VERSION: "The version of API is not supported.",
    Error.POLICY_VIOLATION: "Request parameters do not satisfy the configured policy.",
}


def java_name(error: Error) -> str:
    """UNKNOWN_TOPIC_OR_PARTITION is org.apache.kafka.common.errors.UnknownTopicOrPartition…"""
    words = "".join(word.capitalize() for word in error.name.split("_"))
    return _PACKAGE + _CLASSES.get(error, f"{words.removesuffix('Exception')}Exception")


def words_of(fault: Fault) -> str:
    """What the broker said, else what Kafka's client says of this error."""
    return fault.message or _WORDS.get(fault.error, fault.error.name)


def as_exception(fault: Fault) -> str:
    """Class and words, as an exception of the Java client prints itself."""
    return f"{java_name(fault.error)}: {words_of(fault)}"


def said(error: HeadraceError) -> str:
    """The words alone, of what a broker refused."""
    if isinstance(error, Refused):
        return words_of(Fault(error.error, error.said))
    return words_of(Fault(error.error, "")) if isinstance(error, BrokerRefused) else told(error)


def told(error: HeadraceError) -> str:
    """How Kafka's tools tell what a broker refused; ours in our own words."""
    if isinstance(error, Refused):
        return as_exception(Fault(error.error, error.said))
    if isinstance(error, BrokerRefused):
        return as_exception(Fault(error.error, ""))
    if isinstance(error, Unsupported):
        return f"{java_name(Error.UNSUPPORTED_VERSION)}: {error}"
    return error.cause if isinstance(error, Failure) else str(error)
