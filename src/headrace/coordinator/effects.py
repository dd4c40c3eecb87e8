"""What a coordinator wants to happen, and in which order.

A handler decides on the state as it is and returns `Effects`. Whoever runs the shard appends
`records` as one batch and shows each of them to the shard's `replay`; when they and everything
before them are committed, `replies` leave, `send` and `share_states` are carried out. If the batch
cannot be appended, nothing was replayed, every reply becomes an error, and the shard is loaded anew
from its log: what handlers keep beside the replayed state (members that are joining, tickets that
are parked) must therefore be something that clients can repeat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from headrace.types import TopicPartition


class StateRecord(NamedTuple):
    """A record of an internal topic, decoded. A value of None is a tombstone."""

    key: Any
    value: Any | None


class Caller(NamedTuple):
    """Who asks. `ticket` is opaque: it names the request to whoever delivers the reply."""

    ticket: Any
    client_id: str
    client_host: str
    version: int


class Reply(NamedTuple):
    """The answer to a request; each ticket is answered exactly once."""

    ticket: Any
    response: Any


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


SharePartition: TypeAlias = tuple[UUID, int]
"""A partition that a share group reads: the id of its topic, its number."""


class ShareStatesBegin(NamedTuple):
    """Share partitions of a group whose durable state is to begin, or to begin anew elsewhere.

    A higher `state_epoch` overrules every lower one. An offset of -1 leaves it to the setting
    share.auto.offset.reset. The shard is told the outcome and gives `reply`, if there is one, then.
    """

    group_id: str
    state_epoch: int
    start_offsets: Mapping[SharePartition, int]
    reply: Reply | None = None


class ShareStatesEnd(NamedTuple):
    """Share partitions of a group whose durable state is to be forgotten, perhaps with the group.

    The shard is told the outcome and gives `reply`, if there is one, then.
    """

    group_id: str
    partitions: frozenset[SharePartition]
    reply: Reply | None = None
    ends_group: bool = False


ShareStatesChange: TypeAlias = ShareStatesBegin | ShareStatesEnd


@dataclass(slots=True)
class Effects:
    """What must happen, in the order of the fields."""

    records: list[StateRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    send: list[TransactionMarkers] = field(default_factory=list)
    share_states: list[ShareStatesChange] = field(default_factory=list)
    # What an operator may want to know of it, one sentence each.
    notes: list[str] = field(default_factory=list)
    # The records are part of this producer's transaction and stay pending until its marker.
    transaction: ProducerIdentity | None = None

    def extend(self, other: Effects) -> None:
        """Let what `other` asks for happen after what this one does, in the same batch."""
        assert self.transaction == other.transaction, "one batch belongs to one transaction"
        self.records += other.records
        self.replies += other.replies
        self.send += other.send
        self.share_states += other.share_states
        self.notes += other.notes
