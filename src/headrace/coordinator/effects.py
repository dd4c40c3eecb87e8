"""What a coordinator wants to happen, and in which order.

A handler decides on the state as it is and returns `Effects`. The host of the shard appends
`records` as one batch and shows each of them to the shard's `replay`; when they and everything
before them are committed, `replies` leave and `sends` are carried out. If the batch cannot be
appended, nothing was replayed, every reply becomes an error, and the shard is loaded anew from its
log: what handlers keep beside the replayed state (tickets that are parked, timers, and all of a
classic group that is between two generations) must therefore be something that clients can repeat.

Classic groups are the exception to "only `replay` changes the state". Their protocol lives in
requests that wait for one another, and only its result, a generation with its assignment, is ever
in the log. Such a group changes in its handlers; `replay` makes it at load and then only notes that
the log knows it.

Records and sends have the types of the shard: `Effects[GroupRecord, ShareStatesChange]`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from headrace.errors import Error
from headrace.records.control import EndTxnMarker, build_end_txn_marker
from headrace.types import TopicPartition

Record = TypeVar("Record")
Send = TypeVar("Send", bound="Sendable")
_Key = TypeVar("_Key", covariant=True)
_Value = TypeVar("_Value", covariant=True)
_Response = TypeVar("_Response")
_Answered = TypeVar("_Answered", contravariant=True)


class StateRecord(NamedTuple, Generic[_Key, _Value]):
    """A record of an internal topic, decoded. A value of None is a tombstone."""

    key: _Key
    value: _Value | None


class Ticket(Protocol[_Answered]):
    """One request that is to be answered, once, by `answer` or `refuse`."""

    def answer(self, response: _Answered, /) -> None: ...

    def refuse(self, error: Error, /) -> None: ...


class Caller(NamedTuple, Generic[_Response]):
    """Who asks, and for what response."""

    ticket: Ticket[_Response]
    client_id: str
    client_host: str
    version: int

    def reply(self, response: _Response) -> Reply[_Response]:
        return Reply(self.ticket, response)


class Sendable(Protocol):
    """What a shard wants to be sent somewhere once its records are committed."""

    def refuse(self, error: Error, /) -> None:
        """It is not sent: tell who waits for its outcome."""


class AnyReply(Sendable, Protocol):
    """A reply to a request of whichever kind."""

    @property
    def response(self) -> object: ...

    def deliver(self) -> None: ...


class Reply(NamedTuple, Generic[_Response]):
    """The response to a request, on its way to who asked."""

    ticket: Ticket[_Response]
    response: _Response

    def deliver(self) -> None:
        self.ticket.answer(self.response)

    def refuse(self, error: Error, /) -> None:
        self.ticket.refuse(error)


class ProducerIdentity(NamedTuple):
    """A producer in one life: a higher epoch fences all lower ones."""

    producer_id: int
    producer_epoch: int


class TransactionMarkers(NamedTuple):
    """The end of a transaction, to be written to every partition that took part."""

    transactional_id: str
    producer: ProducerIdentity
    commit: bool
    coordinator_epoch: int
    transaction_version: int
    partitions: tuple[TopicPartition, ...]

    def batch(self, now_ms: int) -> bytes:
        """The marker as it stands in the log of each partition."""
        return build_end_txn_marker(
            EndTxnMarker(self.commit, self.coordinator_epoch),
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.producer_epoch,
            timestamp=now_ms,
        )

    def refuse(self, error: Error, /) -> None:
        """Nobody waits for markers: who loads the transaction sends them."""


@dataclass(slots=True)
class Effects(Generic[Record, Send]):
    """What must happen, in the order of the fields."""

    records: list[Record] = field(default_factory=list)
    replies: list[AnyReply] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    # What an operator may want to know of it, one sentence each.
    notes: list[str] = field(default_factory=list)
    # The records are part of this producer's transaction and stay pending until its marker.
    transaction: ProducerIdentity | None = None

    def extend(self, other: Effects[Record, Send]) -> None:
        """Let what `other` asks for happen after what this one does, in the same batch."""
        assert self.transaction == other.transaction, "one batch belongs to one transaction"
        self.records += other.records
        self.replies += other.replies
        self.sends += other.sends
        self.notes += other.notes

    def refuse(self, error: Error) -> None:
        """Tell all who wait for this, now or later, that it does not happen."""
        for reply in self.replies:
            reply.refuse(error)
        for each in self.sends:
            each.refuse(error)
