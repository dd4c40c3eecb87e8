"""What can go wrong between a client and a cluster, each with its cause and a remedy in words.

`BrokerRefused` carries a Kafka error that no retry will mend, or that outlived all retries. The
others are those that callers tell apart.
"""

from __future__ import annotations

from typing import Final

from headrace.errors import Error, HeadraceError

_CODES: Final = {int(error): error for error in Error}

_REMEDIES: Final = {
    Error.TOPIC_AUTHORIZATION_FAILED: "allow this principal the operation on the topic (an ACL)",
    Error.GROUP_AUTHORIZATION_FAILED: "allow this principal the operation on the group (an ACL)",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "allow this principal Write on the "
    "transactional id (an ACL)",
    Error.CLUSTER_AUTHORIZATION_FAILED: "allow this principal IdempotentWrite on the cluster",
    Error.MESSAGE_TOO_LARGE: "send smaller batches, or raise max.message.bytes of the topic "
    "(message.max.bytes of the broker)",
    Error.RECORD_LIST_TOO_LARGE: "send smaller batches, or raise segment.bytes of the topic",
    Error.INVALID_TRANSACTION_TIMEOUT: "ask for less, or raise transaction.max.timeout.ms of the "
    "brokers",
    Error.UNKNOWN_MEMBER_ID: "the group has members of its own: stop them, or use another group",
    Error.NON_EMPTY_GROUP: "the group has members: stop them first",
    Error.TRANSACTION_ABORTABLE: "abort the transaction and do its work again",
    Error.INVALID_TXN_STATE: "the transaction is over already, perhaps by its time-out: do its "
    "work again in a new one",
    Error.INVALID_TIMESTAMP: "check the timestamps against message.timestamp.before.max.ms and "
    "message.timestamp.after.max.ms of the topic",
    Error.INVALID_RECORD: "a compacted topic takes no records without a key",
    Error.CORRUPT_MESSAGE: "check the disk of the broker and the network between",
    Error.UNSUPPORTED_COMPRESSION_TYPE: "choose another compression.type",
    Error.UNSUPPORTED_VERSION: "the broker is too old for this",
    Error.NOT_ENOUGH_REPLICAS: "bring back the followers, or lower min.insync.replicas",
    Error.OFFSET_METADATA_TOO_LARGE: "raise offset.metadata.max.bytes of the brokers",
    Error.POLICY_VIOLATION: "ask who set the policy of the brokers",
}


def error_named(code: int) -> Error:
    """The error of a code in a response; one from the future is an unknown error."""
    return _CODES.get(code, Error.UNKNOWN_SERVER_ERROR)


class NoBroker(HeadraceError):
    """None of the bootstrap servers could be talked to; the text has a reason for each."""


class TimedOut(HeadraceError):
    """A call did not succeed within its time; the text has the last reason."""


class AuthenticationFailed(HeadraceError):
    """The broker does not take these credentials, or it is not who it claims to be."""


class BrokerRefused(HeadraceError):
    """A broker answered with an error; `what` says what was asked of it."""

    def __init__(self, code: int, what: str, detail: str | None = None) -> None:
        self.error = error_named(code)
        text = f"{what}: the broker answers {self.error.name}"
        if self.error is Error.UNKNOWN_SERVER_ERROR and code != self.error:
            text += f" (code {code})"
        if detail:
            text += f" ({detail})"
        remedy = _REMEDIES.get(self.error)
        super().__init__(f"{text}; {remedy}" if remedy else text)


class UnknownTopic(HeadraceError):
    """The topic, its partition or this life of it (its topic id) does not exist."""

    def __init__(self, topic: str, message: str) -> None:
        super().__init__(message)
        self.topic = topic


class OffsetOutOfRange(HeadraceError):
    """The log has no such offset: it was deleted by now, or was never written."""

    def __init__(
        self, topic: str, partition: int, offset: int, log_start_offset: int, end_offset: int
    ) -> None:
        cause = (
            "retention or a deletion of records has taken it"
            if offset < log_start_offset
            else "it was never written, or the log was truncated or created again"
        )
        super().__init__(
            f"{topic}-{partition} has no offset {offset}: its log goes from {log_start_offset} "
            f"to its end at {end_offset}; {cause}"
        )
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.end_offset = end_offset


class Fenced(HeadraceError):
    """Another producer took this one's place, or the broker no longer knows where it was."""
