"""The requests of a producer that concern its identity and its transactions.

Two versions of the transaction protocol are spoken, as the cluster's feature `transaction.version`
says (KIP-890). Up to 1 the coordinator is told of every partition and group before anything is
written there, and a transaction keeps the producer's epoch. From 2 on brokers tell it themselves,
and the end of each transaction raises the epoch, so that a request that was late cannot slip into
the next one. The module keeps no state of a transaction: that is the producer's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from headrace.client.cluster import Cluster
from headrace.client.connection import Connection
from headrace.client.coordinators import with_coordinator
from headrace.client.faults import BrokerRefused, Fenced, UnknownTopic, error_named
from headrace.client.retrying import PASSING, Deadline
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition
from headrace.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headrace.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from headrace.wire.messages.end_txn import EndTxnRequest
from headrace.wire.messages.init_producer_id import InitProducerIdRequest
from headrace.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from headrace.wire.schema import LAST_VERSION

_FEATURE: Final = "transaction.version"
_ADDING_FROM_CLIENTS: Final = 3
"""The last version of AddPartitionsToTxn that clients send."""
_END_V1: Final = 4
_OFFSETS_V1: Final = 4
LAST_PRODUCE_V1: Final = 11
"""The last versions that leave the transaction as it is and the epoch alone."""

_FENCED: Final = (Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED)
_LOST_TRACK: Final = (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, Error.UNKNOWN_PRODUCER_ID)


class Identity(NamedTuple):
    """What a broker tells a producer apart by, and its incarnations."""

    producer_id: int
    epoch: int


def refusal(code: int, what: str, detail: str | None = None) -> HeadraceError:
    """The exception for an error in an answer to a producer."""
    error = error_named(code)
    if error in _FENCED:
        return Fenced(
            f"{what}: the broker answers {error.name}. Another producer has begun under the same "
            "transactional id, or the transaction took longer than its time-out; this one must stop"
        )
    if error in _LOST_TRACK:
        return Fenced(
            f"{what}: the broker answers {error.name}. It does not have the records that were "
            "acknowledged before, so going on would leave a gap: begin with a new producer"
        )
    return BrokerRefused(code, what, detail)


def init_idempotent(cluster: Cluster) -> Identity:
    """A fresh identity, from any broker."""
    what = "asking for a producer id"
    deadline = cluster.deadline(what)
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0x7FFFFFFF)
    while True:
        connection = cluster.any_broker(within=deadline)
        try:
            answer = cluster.call(connection, request, deadline)
            if answer.error_code:
                raise refusal(answer.error_code, what)
            return Identity(answer.producer_id, answer.producer_epoch)
        except PASSING as error:
            deadline.rest(error)


class Transactions:
    """The requests of one transactional id."""

    def __init__(self, cluster: Cluster, transactional_id: str, timeout_ms: int) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self.is_v2 = False

    def init(self) -> Identity:
        """The identity of this id, after fencing whoever had it and ending what it left open."""
        what = f"beginning as the transactional id {self._id}"
        request = InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=self._timeout_ms
        )

        def init(connection: Connection, deadline: Deadline) -> Identity:
            answer = self._cluster.call(connection, request, deadline)
            if answer.error_code:
                raise refusal(answer.error_code, what)
            self.is_v2 = connection.features.get(_FEATURE, 0) >= 2
            return Identity(answer.producer_id, answer.producer_epoch)

        return with_coordinator(self._cluster, self._id, what, init, transactional=True)

    def add_partitions(self, identity: Identity, places: Collection[TopicPartition]) -> None:
        """Tell the coordinator what will be written to; only in version 1."""
        what = f"adding partitions to the transaction of {self._id}"
        topics: defaultdict[str, list[int]] = defaultdict(list)
        for place in places:
            topics[place.topic].append(place.partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=numbers)
                for name, numbers in topics.items()
            ],
        )

        def add(connection: Connection, deadline: Deadline) -> None:
            version = connection.newest(AddPartitionsToTxnRequest, at_most=_ADDING_FROM_CLIENTS)
            answer = self._cluster.call(connection, request, deadline, version)
            for topic in answer.results_by_topic_v3_and_below:
                for result in topic.results_by_partition:
                    # Of several, the one that was at fault and not those that it kept from going.
                    if result.partition_error_code not in (
                        Error.NONE,
                        Error.OPERATION_NOT_ATTEMPTED,
                    ):
                        raise refusal(
                            result.partition_error_code,
                            f"{what} ({topic.name}-{result.partition_index})",
                        )

        with_coordinator(self._cluster, self._id, what, add, transactional=True)

    def add_group(self, identity: Identity, group: str) -> None:
        """Tell the coordinator that offsets of a group will be committed; only in version 1."""
        what = f"adding the group {group} to the transaction of {self._id}"
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            group_id=group,
        )

        def add(connection: Connection, deadline: Deadline) -> None:
            answer = self._cluster.call(connection, request, deadline)
            if answer.error_code:
                raise refusal(answer.error_code, what)

        with_coordinator(self._cluster, self._id, what, add, transactional=True)

    def commit_offsets(
        self, identity: Identity, group: str, offsets: Mapping[TopicPartition, tuple[int, str]]
    ) -> None:
        """Offsets that count once the transaction commits; sent to the group's coordinator."""
        what = f"committing offsets of the group {group} in the transaction of {self._id}"
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            topics=_offset_topics(offsets),
        )

        def commit(connection: Connection, deadline: Deadline) -> None:
            version = connection.newest(
                TxnOffsetCommitRequest, at_most=LAST_VERSION if self.is_v2 else _OFFSETS_V1
            )
            for topic in self._cluster.call(connection, request, deadline, version).topics:
                for result in topic.partitions:
                    place = TopicPartition(topic.name, result.partition_index)
                    if result.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION:
                        self._require(place, deadline)
                    if result.error_code:
                        raise refusal(result.error_code, f"{what} ({place})")

        with_coordinator(self._cluster, group, what, commit)

    def end(self, identity: Identity, *, commit: bool) -> Identity:
        """Commit or abort; returns the identity for what comes after.

        Coordinators answer a repeated end as the first, so after a lost answer it is sent again.
        """
        what = f"{'committing' if commit else 'aborting'} the transaction of {self._id}"
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            committed=commit,
        )

        def end(connection: Connection, deadline: Deadline) -> Identity:
            version = connection.newest(
                EndTxnRequest, at_most=LAST_VERSION if self.is_v2 else _END_V1
            )
            answer = self._cluster.call(connection, request, deadline, version)
            if answer.error_code:
                raise refusal(answer.error_code, what)
            if answer.producer_id < 0:
                return identity
            return Identity(answer.producer_id, answer.producer_epoch)

        return with_coordinator(self._cluster, self._id, what, end, transactional=True)

    def _require(self, place: TopicPartition, deadline: Deadline) -> None:
        """A coordinator may not have heard of a new topic yet; one that is nowhere is a mistake."""
        known = self._cluster.topics([place.topic], within=deadline).get(place.topic)
        if known is None or place.partition not in known.partitions:
            raise UnknownTopic(
                place.topic,
                f"offsets of {place} cannot be committed in a transaction: there is no such "
                "partition",
            )


def _offset_topics(
    offsets: Mapping[TopicPartition, tuple[int, str]],
) -> list[TxnOffsetCommitRequestTopic]:
    topics: defaultdict[str, list[TxnOffsetCommitRequestPartition]] = defaultdict(list)
    for place, (offset, metadata) in offsets.items():
        topics[place.topic].append(
            TxnOffsetCommitRequestPartition(
                partition_index=place.partition,
                committed_offset=offset,
                committed_metadata=metadata,
            )
        )
    return [
        TxnOffsetCommitRequestTopic(name=name, partitions=partitions)
        for name, partitions in topics.items()
    ]
