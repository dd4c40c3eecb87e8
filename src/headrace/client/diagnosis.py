"""Why no bootstrap server can be used, one reason and one remedy for each.

From inside a client a wrong port, TLS on a plaintext port and a missing sign-in all look like a
connection that does not work. Here something that listens is asked what it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headrace.client.connection import Unreachable
from headrace.client.probe import Speaks, identify
from headrace.client.settings import Address, ClientSettings
from headrace.errors import HeadraceError

_PROBE_TIMEOUT_S: Final = 2.0
_OWN_PORT: Final = "give the broker's own port, usually 9092"

_REMEDIES: Final = {
    Unreachable.REFUSED: "start the broker, or correct the port in bootstrap.servers",
    Unreachable.UNRESOLVED: "correct the host name in bootstrap.servers",
    Unreachable.TIMED_OUT: "check the address in bootstrap.servers and the firewall between",
    Unreachable.OTHER: "check the address in bootstrap.servers",
}
_STRANGERS: Final = {
    Speaks.HTTP: "is an HTTP server, not a Kafka broker",
    Speaks.ZOOKEEPER: "is ZooKeeper, not a Kafka broker",
    Speaks.TLS: "speaks TLS, but not Kafka's protocol behind it",
    Speaks.UNKNOWN: "accepts connections, but does not answer as a Kafka broker",
}


def explain(failures: Mapping[Address, HeadraceError], settings: ClientSettings) -> str:
    """One text for all of these addresses."""
    reasons = (_reason(address, error, settings) for address, error in failures.items())
    return "no broker of bootstrap.servers can be used: " + "; ".join(reasons)


def is_hopeless(failures: Mapping[Address, HeadraceError]) -> bool:
    """Whether waiting cannot help: something is there everywhere, and it is not what is wanted."""
    return not any(
        isinstance(error, Unreachable) and error.reason != Unreachable.TLS
        for error in failures.values()
    )


def _reason(address: Address, error: HeadraceError, settings: ClientSettings) -> str:
    if isinstance(error, Unreachable) and error.reason != Unreachable.TLS:
        return f"{error} ({_REMEDIES[error.reason]})"
    name = f"{address[0]}:{address[1]}"
    try:
        timeout_s = min(_PROBE_TIMEOUT_S, settings.request_timeout_ms / 1000)
        speaks = identify(*address, timeout_s=timeout_s)
    except Unreachable:
        return str(error)
    if speaks in _STRANGERS:
        return f"{name} {_STRANGERS[speaks]} ({_OWN_PORT})"
    if speaks is Speaks.KAFKA_TLS and not settings.has_tls:
        return f"{name} speaks TLS, but the client does not (set security.protocol=SSL)"
    if speaks is Speaks.KAFKA and settings.has_tls:
        return (
            f"{name} speaks plaintext, but security.protocol={settings.security_protocol} asks "
            "for TLS (use PLAINTEXT or SASL_PLAINTEXT, or the port of an SSL listener)"
        )
    if settings.has_tls:
        return f"{error} (check ssl.ca.location and the name in the broker's certificate)"
    return f"{error} (if the listener wants a sign-in, set security.protocol=SASL_PLAINTEXT)"
