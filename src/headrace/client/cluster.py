"""A cluster as its metadata describes it, and one connection to each broker that is needed.

Blocking and for one thread. What was learnt is kept until somebody says that it is wrong: `forget`
for the leaders of a topic, `forget_coordinator` for a group or a transactional id. Connections are
opened on first use, signed in, and opened again after they are lost. The class follows leaders; it
refuses to know what is sent to them.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Collection, Iterator, Mapping
from random import SystemRandom
from typing import Any, Final, NamedTuple
from uuid import UUID

from headrace.client.authentication import authenticate
from headrace.client.connection import (
    Connection,
    ConnectionLost,
    NotKafka,
    Unreachable,
    Unsupported,
)
from headrace.client.diagnosis import explain, is_hopeless
from headrace.client.faults import (
    BrokerRefused,
    NoBroker,
    TimedOut,
    UnknownTopic,
)
from headrace.client.retrying import PASSING, Deadline
from headrace.client.settings import Address, ClientSettings
from headrace.client.tls import tls_context
from headrace.errors import Error, HeadraceError
from headrace.types import NO_EPOCH, NO_LEADER, ZERO_UUID
from headrace.wire.faults import MalformedMessage
from headrace.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

FIRST_CONTACT_MS: Final = 10_000
"""How long to wait for a broker that never answered: it may be starting, or not exist at all."""

_ABSENT: Final = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.INVALID_TOPIC_EXCEPTION)
_PAUSES_FOR_ABSENT: Final = 10
"""How many `retry_backoff_ms` a topic may be missing: one just made is not known everywhere."""
_LOSSES_BEFORE_DOUBT: Final = 3
"""A listener that wants a sign-in takes connections and closes them at the first real request."""
_BATCHED_COORDINATORS: Final = 4
_CHANCE: Final = SystemRandom()


class PartitionMetadata(NamedTuple):
    """Who leads a partition (-1: nobody), and in which epoch."""

    leader: int
    leader_epoch: int


class TopicMetadata(NamedTuple):
    """A topic, its identity and its partitions by number."""

    name: str
    topic_id: UUID
    is_internal: bool
    partitions: Mapping[int, PartitionMetadata]


class Route(NamedTuple):
    """Where to send what concerns a partition, and what the leader wants to hear with it."""

    connection: Connection
    leader: int
    leader_epoch: int
    topic_id: UUID


class Cluster:
    """Every call is bounded by `api_timeout_ms`."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self.controller_id = NO_LEADER
        """The controller as last heard of."""
        self._tls: ssl.SSLContext | None = tls_context(settings)
        self._connections: dict[Address, Connection] = {}
        self._brokers: dict[int, Address] = {}
        self._topics: dict[str, TopicMetadata] = {}
        self._stale: set[str] = set()
        self._coordinators: dict[tuple[str, bool], int] = {}
        self._was_reached = False

    # -- topics and leaders -----------------------------------------------------------------------

    def topics(
        self, names: Collection[str] | None = None, *, within: Deadline | None = None
    ) -> dict[str, TopicMetadata]:
        """These topics, or all, as the cluster knows them now; unknown names are absent."""
        deadline = within or self.deadline("asking for metadata")
        request = MetadataRequest(
            topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
            allow_auto_topic_creation=False,
        )
        losses = 0
        while True:
            connection = self.any_broker(within=deadline)
            try:
                found = self._learn(self.call(connection, request, deadline))
                for gone in set(self._topics if names is None else names) - found.keys():
                    self._topics.pop(gone, None)
                return found
            except PASSING as error:
                losses += isinstance(error, ConnectionLost)
                if not self._was_reached and losses == _LOSSES_BEFORE_DOUBT:
                    raise NoBroker(explain({connection.where: error}, self.settings)) from None
                deadline.rest(error)

    def topic(self, name: str, *, within: Deadline | None = None) -> TopicMetadata:
        """One topic as last heard of; `UnknownTopic` if there is none of this name."""
        if name in self._topics and name not in self._stale:
            return self._topics[name]
        deadline = within or self.deadline(f"asking for the topic {name}")
        patience = Deadline(
            self.settings, name, timeout_ms=_PAUSES_FOR_ABSENT * self.settings.retry_backoff_ms
        )
        while True:
            found = self.topics([name], within=deadline).get(name)
            if found is not None:
                return found
            try:
                patience.rest(BrokerRefused(Error.UNKNOWN_TOPIC_OR_PARTITION, name))
            except TimedOut:
                raise UnknownTopic(
                    name, f"the topic {name} does not exist: create it, or correct its name"
                ) from None

    def route(self, topic: str, partition: int, *, within: Deadline | None = None) -> Route:
        """The leader of a partition as last heard of, connected."""
        deadline = within or self.deadline(f"finding the leader of {topic}-{partition}")
        while True:
            known = self.topic(topic, within=deadline)
            place = known.partitions.get(partition)
            if place is None:
                known = self._look_again(topic, deadline)
                if partition in known.partitions:
                    continue
                raise UnknownTopic(
                    topic,
                    f"the topic {topic} has no partition {partition}: "
                    f"it has {len(known.partitions)}, counted from 0",
                )
            try:
                if place.leader == NO_LEADER:
                    raise BrokerRefused(Error.LEADER_NOT_AVAILABLE, f"{topic}-{partition}")
                connection = self.broker(place.leader, within=deadline)
                return Route(connection, place.leader, place.leader_epoch, known.topic_id)
            except PASSING as error:
                self.forget(topic)
                deadline.rest(error)

    def leader(self, topic: str, partition: int) -> Connection:
        """A connection to the leader as last heard of; `forget` the topic to ask anew."""
        return self.route(topic, partition).connection

    def forget(self, topic: str) -> None:
        """Ask for this topic's leaders again before the next use."""
        self._stale.add(topic)

    def _look_again(self, topic: str, deadline: Deadline) -> TopicMetadata:
        self.forget(topic)
        return self.topic(topic, within=deadline)

    # -- coordinators -----------------------------------------------------------------------------

    def coordinator(
        self, key: str, *, transactional: bool = False, within: Deadline | None = None
    ) -> Connection:
        """A connection to the coordinator of a group, or of a transactional id."""
        what = f"the {'transactional id' if transactional else 'group'} {key}"
        deadline = within or self.deadline(f"finding the coordinator of {what}")
        while True:
            try:
                node = self._coordinators.get((key, transactional))
                if node is None:
                    found = self._find_coordinator(key, transactional, deadline)
                    if found.error_code:
                        raise BrokerRefused(
                            found.error_code,
                            f"finding the coordinator of {what}",
                            found.error_message,
                        )
                    node = self._coordinators[key, transactional] = found.node_id
                    self._brokers[node] = (found.host, found.port)
                return self.broker(node, within=deadline)
            except PASSING as error:
                self.forget_coordinator(key, transactional=transactional)
                deadline.rest(error)

    def forget_coordinator(self, key: str, *, transactional: bool = False) -> None:
        """Look for this coordinator again before the next use."""
        self._coordinators.pop((key, transactional), None)

    def _find_coordinator(self, key: str, transactional: bool, deadline: Deadline) -> Coordinator:
        connection = self.any_broker(within=deadline)
        version = connection.newest(FindCoordinatorRequest)
        if version >= _BATCHED_COORDINATORS:
            request = FindCoordinatorRequest(key_type=int(transactional), coordinator_keys=[key])
            many: FindCoordinatorResponse = self.call(connection, request, deadline, version)
            if len(many.coordinators) != 1:
                raise BrokerRefused(Error.COORDINATOR_NOT_AVAILABLE, f"coordinator of {key}")
            return many.coordinators[0]
        request = FindCoordinatorRequest(key=key, key_type=int(transactional))
        one: FindCoordinatorResponse = self.call(connection, request, deadline, version)
        return Coordinator(
            key=key,
            node_id=one.node_id,
            host=one.host,
            port=one.port,
            error_code=one.error_code,
            error_message=one.error_message,
        )

    # -- connections ------------------------------------------------------------------------------

    def broker(self, node: int, *, within: Deadline | None = None) -> Connection:
        """A connection to this broker at the address it advertises."""
        deadline = within or self.deadline(f"connecting to broker {node}")
        address = self._brokers.get(node)
        if address is None:
            raise BrokerRefused(Error.LEADER_NOT_AVAILABLE, f"broker {node} has no known address")
        try:
            return self._connected(address, deadline)
        except Unreachable as error:
            if address in self.settings.bootstrap_servers:
                raise
            raise Unreachable(
                error.reason,
                f"{error}; it is the address that broker {node} advertises: if it never worked "
                "from here, correct advertised.listeners of that broker",
            ) from None

    def any_broker(self, *, within: Deadline | None = None) -> Connection:
        """A connection to whoever answers: open ones, then brokers known, then bootstrap ones."""
        alive = [opened for opened in self._connections.values() if opened.is_usable]
        if alive:
            # One that waits for a fetch would keep a short question waiting as well.
            return _CHANCE.choice([opened for opened in alive if opened.is_idle] or alive)
        deadline = within or self.deadline("reaching a broker")
        patience = Deadline(self.settings, "first contact", timeout_ms=FIRST_CONTACT_MS)
        while True:
            failures: dict[Address, HeadraceError] = {}
            for address in self._candidates():
                try:
                    return self._connected(address, deadline)
                except _UNUSABLE as error:
                    failures[address] = error
            if not self._was_reached and (is_hopeless(failures) or patience.left_s < 0):
                raise NoBroker(explain(failures, self.settings))
            try:
                deadline.rest(next(iter(failures.values())))
            except TimedOut:
                raise NoBroker(explain(failures, self.settings)) from None

    def _candidates(self) -> Iterator[Address]:
        known = list(self._brokers.values())
        _CHANCE.shuffle(known)
        yield from dict.fromkeys((*known, *self.settings.bootstrap_servers))

    def _connected(self, address: Address, deadline: Deadline) -> Connection:
        connection = self._connections.get(address)
        if connection is not None and connection.is_usable:
            return connection
        connection = self._connections[address] = self._connect(address, deadline)
        return connection

    def _connect(self, address: Address, deadline: Deadline) -> Connection:
        connection = Connection(
            *address,
            timeout_s=min(self.settings.connection_timeout_ms / 1000, deadline.request_s),
            client_id=self.settings.client_id,
            tls=self._tls,
        )
        try:
            connection.negotiate()
            authenticate(connection, self.settings)
        except BaseException:
            connection.close()
            raise
        return connection

    def call(
        self, connection: Connection, request: Any, deadline: Deadline, version: int | None = None
    ) -> Any:
        """One request and its response, within the time that is left."""
        connection.set_timeout(deadline.request_s)
        return connection.call(request, version)

    def close(self) -> None:
        """Close every connection. The cluster can still be used: it opens new ones."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def deadline(self, what: str) -> Deadline:
        """The time that a call has from now on."""
        return Deadline(self.settings, what)

    # -- metadata ---------------------------------------------------------------------------------

    def _learn(self, response: MetadataResponse) -> dict[str, TopicMetadata]:
        if response.error_code == Error.REBOOTSTRAP_REQUIRED:
            # The brokers known so far belong to another cluster by now (KIP-1102).
            self.close()
            self._brokers.clear()
            raise ConnectionLost("the broker asks this client to bootstrap again")
        if response.error_code:
            raise BrokerRefused(response.error_code, "asking for metadata")
        self._was_reached = True
        self.controller_id = response.controller_id
        self._brokers = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        topics = {}
        for answer in response.topics:
            if answer.error_code in _ABSENT or answer.name is None:
                continue
            if answer.error_code:
                raise BrokerRefused(answer.error_code, f"metadata of the topic {answer.name}")
            topics[answer.name] = self._remember(answer.name, answer)
        return topics

    def _remember(self, name: str, answer: MetadataResponseTopic) -> TopicMetadata:
        partitions = {
            partition.partition_index: PartitionMetadata(
                partition.leader_id, partition.leader_epoch
            )
            for partition in answer.partitions
        }
        before = self._topics.get(name)
        if before is not None and before.topic_id == answer.topic_id != ZERO_UUID:
            # A broker that lags behind must not bring back a leader of the past (KIP-320).
            for number, known in before.partitions.items():
                told = partitions.get(number)
                if told is not None and NO_EPOCH < told.leader_epoch < known.leader_epoch:
                    partitions[number] = known
        topic = TopicMetadata(name, answer.topic_id, answer.is_internal, partitions)
        self._topics[name] = topic
        self._stale.discard(name)
        return topic


_UNUSABLE: Final = (
    Unreachable,
    ConnectionLost,
    NotKafka,
    Unsupported,
    MalformedMessage,
)

_shared: Final[dict[tuple[int, ClientSettings], Cluster]] = {}


def shared_cluster(settings: ClientSettings) -> Cluster:
    """The one cluster of this process and these settings; a forked child gets its own."""
    key = (os.getpid(), settings)
    cluster = _shared.get(key)
    if cluster is None:
        cluster = _shared[key] = Cluster(settings)
    return cluster
