"""Requests that librdkafka has no call for, sent to the broker that must answer them.

A coordinator or a leader is looked up, asked, and asked again for as long as it says that it is
only just moving. The module refuses to know what the requests mean. It speaks plaintext and TLS;
it cannot sign in with SASL, and says so.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final

from headrace.cli.failures import Failure
from headrace.cli.reach import reach
from headrace.cli.target import Address, Target
from headrace.client.connection import Connection, ConnectionLost, Unreachable, Unsupported
from headrace.errors import Error

TIMEOUT_S: Final = 10.0
_PAUSE_S: Final = 0.1
_PASSING: Final = frozenset(
    {
        Error.COORDINATOR_LOAD_IN_PROGRESS,
        Error.COORDINATOR_NOT_AVAILABLE,
        Error.NOT_COORDINATOR,
        Error.NOT_LEADER_OR_FOLLOWER,
        Error.LEADER_NOT_AVAILABLE,
        Error.CONCURRENT_TRANSACTIONS,
    }
)
_REMEDIES: Final = {
    Error.GROUP_ID_NOT_FOUND: 'see "headrace group list"',
    Error.GROUP_SUBSCRIBED_TO_TOPIC: "stop the members that read this topic first",
    Error.NON_EMPTY_GROUP: "stop its members first",
    Error.UNKNOWN_MEMBER_ID: 'see "headrace group describe GROUP --members"',
    Error.TRANSACTIONAL_ID_NOT_FOUND: 'see "headrace transaction list"',
    Error.UNKNOWN_TOPIC_OR_PARTITION: 'see "headrace topic list"',
    Error.INVALID_PRODUCER_EPOCH: "the transaction has ended in the meantime; list it again",
    Error.CONCURRENT_TRANSACTIONS: "its transaction is still being ended; try again",
    Error.COORDINATOR_NOT_AVAILABLE: 'find the cause with "headrace doctor"',
    Error.GROUP_AUTHORIZATION_FAILED: "the user needs a permission for this group",
    Error.CLUSTER_AUTHORIZATION_FAILED: "the user needs a permission for the cluster",
    Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "the user needs a permission for this id",
    Error.TOPIC_AUTHORIZATION_FAILED: "the user needs a permission for this topic",
}


class Keeper(IntEnum):
    """What FindCoordinator looks for."""

    GROUP = 0
    TRANSACTION = 1


class Brokers:
    """One connection per broker, opened when it is first needed; `open_brokers` makes one."""

    def __init__(self, target: Target) -> None:
        self._tls = _tls_of(target) if target.tls else None
        self._target = target
        self._addresses: dict[int, Address] = {}
        self._connections: dict[Address, Connection] = {}
        self._learn()

    def _learn(self) -> None:
        from headrace.wire.messages.metadata import MetadataRequest

        brokers = self._ask_any(MetadataRequest(topics=[])).brokers
        self._addresses = {each.node_id: Address(each.host, each.port) for each in brokers}

    @property
    def ids(self) -> list[int]:
        return sorted(self._addresses)

    def ask(self, broker_id: int, request: Any, version: int | None = None) -> Any:
        """The answer of one broker; without a version, in the newest that both know."""
        return self._connect(self._addresses[broker_id]).call(request, version)

    def ask_patiently(self, broker_id: int, request: Any, error_of: Callable[[Any], int]) -> Any:
        """The answer of one broker, once it has loaded what it is asked for."""
        return self._patiently(lambda: self.ask(broker_id, request), error_of)

    def ask_coordinator(
        self, keeper: Keeper, key: str, request: Any, error_of: Callable[[Any], int]
    ) -> Any:
        """The answer of the coordinator of `key`; `error_of` finds the code that may pass."""
        return self._patiently(
            lambda: self.ask(self.find_coordinator(keeper, key), request), error_of
        )

    def ask_leader(
        self, topic: str, partition: int, request: Any, error_of: Callable[[Any], int]
    ) -> Any:
        """The answer of the partition's leader."""
        return self._patiently(
            lambda: self.ask(self.find_leader(topic, partition), request), error_of
        )

    def find_coordinator(self, keeper: Keeper, key: str) -> int:
        from headrace.wire.messages.find_coordinator import FindCoordinatorRequest

        # The one version that both the oldest and the newest brokers in use can answer.
        request = FindCoordinatorRequest(key=key, key_type=keeper)
        found = self._patiently(
            lambda: self._ask_any(request, version=3), lambda answer: int(answer.error_code)
        )
        raise_for(found.error_code, f'the coordinator of "{key}"')
        self._addresses[found.node_id] = Address(found.host, found.port)
        return int(found.node_id)

    def find_leader(self, topic: str, partition: int) -> int:
        """The id of the leader, or a failure if there is no such partition or it has none."""
        leaders = self.leaders(topic)
        if partition not in leaders:
            raise Failure(
                f'topic "{topic}" has no partition {partition}', f"it has 0 to {len(leaders) - 1}"
            )
        if leaders[partition] not in self._addresses:
            raise Failure(
                f'partition {partition} of topic "{topic}" has no leader',
                'see "headrace topic describe"',
            )
        return leaders[partition]

    def leaders(self, topic: str) -> dict[int, int]:
        """Leader by partition; -1 where there is none."""
        return {each.partition_index: each.leader_id for each in self._partitions(topic)}

    def replicas(self, topic: str) -> dict[int, list[int]]:
        """The brokers that hold each partition."""
        return {each.partition_index: each.replica_nodes for each in self._partitions(topic)}

    def _partitions(self, topic: str) -> Any:
        from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        (found,) = self._ask_any(request).topics
        raise_for(found.error_code, f'topic "{topic}"')
        return found.partitions

    def topics(self) -> list[str]:
        """The names of all topics, the cluster's own included."""
        from headrace.wire.messages.metadata import MetadataRequest

        return sorted(each.name for each in self._ask_any(MetadataRequest(topics=None)).topics)

    def _ask_any(self, request: Any, version: int | None = None) -> Any:
        fault: Exception | None = None
        for address in dict.fromkeys((*self._target.addresses, *self._addresses.values())):
            try:
                return self._connect(address).call(request, version)
            except (Unreachable, ConnectionLost) as error:
                self._connections.pop(address, None)
                fault = error
        assert fault is not None
        raise fault

    def _patiently(self, ask: Callable[[], Any], error_of: Callable[[Any], int]) -> Any:
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = ask()
            if error_of(answer) not in _PASSING or time.monotonic() > deadline:
                return answer
            time.sleep(_PAUSE_S)

    def _connect(self, address: Address) -> Connection:
        if address not in self._connections:
            self._connections[address] = Connection(
                *address, timeout_s=TIMEOUT_S, client_id="headrace-cli", tls=self._tls
            )
        return self._connections[address]

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


@contextmanager
def open_brokers(target: Target) -> Iterator[Brokers]:
    """The brokers of the cluster for the length of the block; what they break becomes a failure."""
    if "sasl" in target.properties.get("security.protocol", "").lower():
        raise Failure(
            "this request cannot be authenticated with SASL",
            "give a listener without SASL in -b",
        )
    reach(target)
    try:
        brokers = Brokers(target)
    except (Unreachable, ConnectionLost) as error:
        raise Failure(str(error), 'find the cause with "headrace doctor"') from None
    try:
        yield brokers
    except Unsupported as error:
        raise Failure(str(error), 'compare "headrace cluster api-versions"') from None
    except (Unreachable, ConnectionLost) as error:
        raise Failure(str(error), 'find the cause with "headrace doctor"') from None
    finally:
        brokers.close()


def fault_of(code: int, subject: str, words: str | None = None) -> Failure:
    """The failure for a broker's error code; `words` is what the broker said besides."""
    try:
        error = Error(code)
    except ValueError:
        return Failure(f"{subject}: the broker answers with the unknown error {code}")
    said = words or error.name.replace("_", " ").lower()
    return Failure(
        f"{subject}: {said.rstrip('.')}", _REMEDIES.get(error, f"the broker says {error.name}")
    )


def raise_for(code: int, subject: str, words: str | None = None) -> None:
    """Fail unless the code is zero."""
    if code != Error.NONE:
        raise fault_of(code, subject, words)


def _tls_of(target: Target) -> ssl.SSLContext:
    """librdkafka's own settings for certificates, as Python's TLS takes them."""
    given = target.properties
    try:
        context = ssl.create_default_context(cafile=given.get("ssl.ca.location"))
        if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif given.get("ssl.endpoint.identification.algorithm", "https").lower() == "none":
            context.check_hostname = False
        if certificate := given.get("ssl.certificate.location"):
            context.load_cert_chain(
                certificate, given.get("ssl.key.location"), given.get("ssl.key.password")
            )
    except OSError as error:
        raise Failure(f"the certificates cannot be used ({error})", "correct -X ssl.…") from None
    return context
