"""Where a broker listens and what it tells clients to connect to, from Kafka's listener settings.

A listener has a name; the name stands for a security protocol, by itself (PLAINTEXT, SSL,
SASL_PLAINTEXT, SASL_SSL) or through `listener.security.protocol.map`. The functions read text and
complain; opening sockets and finding out the machine's own name is the shell's business.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.errors import ConfigError

SECURITY_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
WILDCARD_HOSTS: Final = ("", "0.0.0.0", "::")

_LISTENER = re.compile(r"([^:/\[\]]+)://(?:\[([0-9a-fA-F:.%]*)\]|([^:/\[\]]*)):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Listener:
    """One address. An empty host means all interfaces (or: fill in this machine's name)."""

    name: str
    host: str
    port: int
    security_protocol: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_protocol_map(text: str) -> dict[str, str]:
    """`CLIENTS:SASL_SSL, REPLICATION:SASL_PLAINTEXT` by name; protocols always name themselves."""
    protocols = {protocol: protocol for protocol in SECURITY_PROTOCOLS}
    seen: set[str] = set()
    for item in _items(text):
        name, _, protocol = (part.strip().upper() for part in item.partition(":"))
        if not name or protocol not in SECURITY_PROTOCOLS:
            raise _fault("listener.security.protocol.map", text, f"{item!r} is not NAME:PROTOCOL")
        if name in seen:
            raise _fault("listener.security.protocol.map", text, f"{name} occurs twice")
        seen.add(name)
        protocols[name] = protocol
    return protocols


def parse_listeners(key: str, text: str, protocols: Mapping[str, str]) -> list[Listener]:
    """The listeners of a comma-separated list, in order. `key` is named in errors."""
    listeners = [_parse_listener(key, text, item, protocols) for item in _items(text)]
    names = [listener.name for listener in listeners]
    for name in names:
        if names.count(name) > 1:
            raise _fault(key, text, f"the listener {name} occurs twice")
    return listeners


def check_ports(key: str, text: str, listeners: Sequence[Listener]) -> None:
    """Refuse two listeners on one port, unless one has an IPv4 and the other an IPv6 address."""
    by_port: dict[int, list[Listener]] = {}
    for listener in listeners:
        if listener.port:
            by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        families = {":" in listener.host for listener in sharing if listener.host}
        if len(sharing) > 1 and not (len(sharing) == 2 and len(families) == 2):
            raise _fault(key, text, f"two listeners use port {port}")


def advertise(
    listeners: Sequence[Listener], text: str | None, *, ignored: Collection[str] = ()
) -> list[Listener]:
    """What clients are told: the given addresses, or the listeners themselves; those of Kafka's
    controllers are `ignored`.

    A listener on all interfaces is advertised with an empty host, to be filled in with the name of
    this machine; an address that no client can reach is refused.
    """
    if text is None:
        return [
            Listener(
                listener.name,
                "" if listener.host in WILDCARD_HOSTS else listener.host,
                listener.port,
                listener.security_protocol,
            )
            for listener in listeners
        ]
    protocols = {listener.name: listener.security_protocol for listener in listeners}
    protocols |= dict.fromkeys(ignored, "PLAINTEXT")
    advertised = [
        listener
        for listener in parse_listeners("advertised.listeners", text, protocols)
        if listener.name not in ignored
    ]
    for listener in advertised:
        if listener.host in ("0.0.0.0", "::"):
            raise _fault(
                "advertised.listeners",
                text,
                f"no client can connect to {listener.host}; give a host name or address",
            )
    return advertised


def _parse_listener(key: str, text: str, item: str, protocols: Mapping[str, str]) -> Listener:
    match = _LISTENER.fullmatch(item)
    if match is None or int(match[4]) > 65535:
        raise _fault(key, text, f"{item!r} is not NAME://host:port with a port of 0 to 65535")
    name = match[1].strip().upper()
    if name not in protocols:
        known = ", ".join(protocols)
        raise _fault(
            key, text, f"{name} is none of {known}; listener.security.protocol.map defines names"
        )
    return Listener(name, match[2] or match[3] or "", int(match[4]), protocols[name])


def _items(text: str) -> Iterable[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _fault(key: str, text: str, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value {text} for configuration {key}: {reason}")
