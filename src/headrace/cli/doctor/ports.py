"""Checks the ports on which a broker is about to listen: free, or taken by whom?"""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from headrace.cli.doctor.findings import Finding, fail, ok, warn
from headrace.cli.target import Address
from headrace.client.connection import Unreachable
from headrace.client.probe import Speaks, identify
from headrace.cluster.listeners import WILDCARD_HOSTS, Listener

_LISTENING: Final = "0A"  # the state of a listening socket in /proc/net/tcp


def examine_listeners(
    listeners: Sequence[Listener], advertised: Sequence[Listener]
) -> Iterator[Finding]:
    for listener in listeners:
        yield examine_port(Address(listener.host or "0.0.0.0", listener.port))
    for listener in advertised:
        if listener.host:
            yield _examine_name(listener)


def examine_port(address: Address) -> Finding:
    """Whether a broker could listen there now."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
            # Binding alone succeeds beside a socket of the same user that only reuses the address.
            probe.listen(1)
        except OSError as error:
            return _describe_refusal(address, error)
    return ok(f"port {address.port}", f"{address} is free")


def _describe_refusal(address: Address, error: OSError) -> Finding:
    subject = f"port {address.port}"
    if error.errno == errno.EADDRINUSE:
        owner = owner_of(address.port)
        by = f"pid {owner[0]} ({owner[1]})" if owner else "a process that is not visible to you"
        if _speaks_kafka(address):
            return warn(
                subject,
                f"{address} is in use by {by}, a Kafka broker",
                "stop it before you start another one, or use another port",
            )
        return fail(
            subject, f"{address} is in use by {by}", "stop that process, or use another port"
        )
    if error.errno == errno.EACCES:
        return fail(subject, f"{address} needs more rights", "use a port above 1023")
    return fail(
        subject,
        f"no broker can listen on {address} ({os.strerror(error.errno or 0)})",
        "give an address of this machine in listeners",
    )


def _speaks_kafka(address: Address) -> bool:
    host = "127.0.0.1" if address.host in WILDCARD_HOSTS else address.host
    try:
        return identify(host, address.port, timeout_s=1.0) in (Speaks.KAFKA, Speaks.KAFKA_TLS)
    except Unreachable:
        return False


def _examine_name(listener: Listener) -> Finding:
    subject = f"advertised {listener.host}"
    try:
        found = socket.getaddrinfo(listener.host, None, type=socket.SOCK_STREAM)
    except OSError:
        return fail(
            subject,
            "the name cannot be resolved on this machine",
            "correct advertised.listeners, or the name service",
        )
    return ok(subject, f"resolves to {found[0][4][0]}")


def owner_of(port: int, proc: Path = Path("/proc")) -> tuple[int, str] | None:
    """Process id and name of who listens on a port, as far as this user may see it."""
    inodes = set(_listening_inodes(port, proc))
    if not inodes:
        return None
    for folder in sorted(proc.glob("[0-9]*"), key=lambda each: int(each.name)):
        try:
            for descriptor in (folder / "fd").iterdir():
                match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor))
                if match and match[1] in inodes:
                    return int(folder.name), (folder / "comm").read_text().strip()
        except OSError:
            continue  # Another user's process, or one that has just ended.
    return None


def _listening_inodes(port: int, proc: Path) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                yield fields[9]
