"""Whether the brokers of a command can be reached, and if not, why not.

Client libraries answer a refused connection, TLS on a plaintext port, ZooKeeper's port and a wrong
advertised address all with the same time-out. Here each has its own sentence.
"""

from __future__ import annotations

from typing import Final

from headrace.cli.failures import Failure
from headrace.cli.target import Address, Target
from headrace.client.connection import (
    Connection,
    ConnectionLost,
    NotKafka,
    Unreachable,
    open_socket,
)
from headrace.client.probe import Speaks, identify, trust_anyone
from headrace.errors import HeadraceError
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse

TIMEOUT_S: Final = 3.0
_METADATA: Final = 3  # every broker serves this API, and no controller does

_REMEDIES: Final = {
    Unreachable.REFUSED: 'start a broker with "headrace up", or name another address with -b',
    Unreachable.UNRESOLVED: "correct the host name in -b",
    Unreachable.TIMED_OUT: "check the address in -b and the firewall between",
    Unreachable.OTHER: "check the address in -b",
}


def reach(target: Target) -> None:
    """Return when one of the addresses answers as a broker; otherwise fail with all the reasons.

    A broker that answers but advertises addresses of which none is open is a failure too: every
    client would be sent there.
    """
    faults = []
    for address in target.addresses:
        fault = find_fault(address, tls=target.tls)
        if fault is None:
            _require_any_open(target, address)
            return
        faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    raise Failure("no bootstrap server can be used: " + " | ".join(map(str, faults)))


def find_fault(address: Address, *, tls: bool, timeout_s: float = TIMEOUT_S) -> Failure | None:
    """Why a client could not use this address, or None if it can."""
    host, port = address
    try:
        if tls:
            # A handshake is all that can be had without the user's certificates.
            Connection(host, port, timeout_s=timeout_s, tls=trust_anyone()).close()
        else:
            with Connection(host, port, timeout_s=timeout_s) as connection:
                if _METADATA not in connection.served():
                    return Failure(
                        f"{address} is a KRaft controller, not a Kafka broker",
                        "give the broker's own port, usually 9092",
                    )
        return None
    except Unreachable as error:
        if error.reason != Unreachable.TLS:
            return Failure(str(error), _REMEDIES[error.reason])
    except (ConnectionLost, NotKafka, HeadraceError):
        pass  # Something listens; the next question is what.
    try:
        return describe_stranger(address, identify(host, port, timeout_s=timeout_s), tls=tls)
    except Unreachable as error:
        return Failure(str(error), _REMEDIES[error.reason])


def describe_stranger(address: Address, speaks: Speaks, *, tls: bool) -> Failure | None:
    """The failure for a listener that is not what the client expects."""
    if speaks is Speaks.KAFKA:
        if not tls:
            return None
        return Failure(
            f"{address} speaks plaintext, but security.protocol asks for TLS",
            "remove -X security.protocol, or give the port of an SSL listener",
        )
    if speaks in (Speaks.TLS, Speaks.KAFKA_TLS):
        return Failure(
            f"{address} speaks TLS, but the client speaks plaintext",
            "add -X security.protocol=SSL -X ssl.ca.location=FILE",
        )
    if speaks is Speaks.HTTP:
        return Failure(
            f"{address} is an HTTP server, not a Kafka broker",
            "give the broker's own port, usually 9092",
        )
    if speaks is Speaks.ZOOKEEPER:
        return Failure(
            f"{address} is ZooKeeper, not a Kafka broker",
            "give the broker's own port, usually 9092",
        )
    return Failure(
        f"{address} accepts connections but does not answer as a Kafka broker",
        "check the port, and whether the broker there is overloaded",
    )


def _require_any_open(target: Target, address: Address) -> None:
    fault = None
    for broker_id, advertised in read_brokers(target, address).items():
        fault = find_closed(target, advertised, broker_id)
        if fault is None:
            return
    if fault is not None:
        raise fault


def find_closed(target: Target, advertised: Address, broker_id: int) -> Failure | None:
    """Why the address that a broker advertises takes no connection from here, or None."""
    if advertised in target.addresses:
        return None  # It has answered, or has been complained about, already.
    try:
        open_socket(*advertised, TIMEOUT_S).close()
    except Unreachable as error:
        return Failure(
            f"{target.servers} answers, but its broker {broker_id} sends clients to {advertised}, "
            f"and {error}",
            "correct advertised.listeners of that broker",
        )
    return None


def read_brokers(target: Target, address: Address) -> dict[int, Address]:
    """The brokers and the addresses that they advertise; none if they want a sign-in first."""
    try:
        brokers = read_metadata(target, address).brokers
    except HeadraceError:
        return {}
    return {broker.node_id: Address(broker.host, broker.port) for broker in brokers}


def read_metadata(target: Target, address: Address) -> MetadataResponse:
    """What the broker at this address answers about its cluster without authentication."""
    tls = trust_anyone() if target.tls else None
    with Connection(*address, timeout_s=TIMEOUT_S, tls=tls) as connection:
        answer: MetadataResponse = connection.call(MetadataRequest(topics=[]))
        return answer


def explain_silence(target: Target, symptom: str) -> Failure:
    """A broker answers, and yet a call timed out: look at every advertised address."""
    for address in target.addresses:
        for broker_id, advertised in read_brokers(target, address).items():
            fault = find_closed(target, advertised, broker_id)
            if fault is not None:
                return fault
    return Failure(
        f"the brokers at {target.servers} did not answer in time ({symptom})",
        'find the cause with "headrace doctor"',
    )
