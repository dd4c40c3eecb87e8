"""Checks a running cluster from where the client stands: can it be reached as it says?"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator

from headrace.cli.doctor.findings import Finding, fail, ok, warn
from headrace.cli.reach import find_fault, read_metadata
from headrace.cli.target import Address, Target
from headrace.errors import HeadraceError


def examine_cluster(target: Target) -> Iterator[Finding]:
    """Every bootstrap address, and every address that the brokers behind it advertise."""
    seen: set[Address] = set()
    for address in target.addresses:
        fault = find_fault(address, tls=target.tls)
        if fault is not None:
            yield fail(str(address), fault.cause, fault.remedy)
            continue
        yield ok(str(address), "a Kafka broker answers" + (" over TLS" if target.tls else ""))
        try:
            metadata = read_metadata(target, address)
        except HeadraceError as error:
            yield warn(
                str(address),
                f"its metadata cannot be read without signing in ({error})",
                "the advertised addresses were not examined",
            )
            continue
        for broker in metadata.brokers:
            advertised = Address(broker.host, broker.port)
            if advertised not in seen:
                seen.add(advertised)
                yield _examine_advertised(
                    target, address, advertised, broker.node_id, metadata.cluster_id
                )


def _examine_advertised(
    target: Target, asked: Address, advertised: Address, node_id: int, cluster_id: str | None
) -> Finding:
    subject = f"broker {node_id} at {advertised}"
    fault = find_fault(advertised, tls=target.tls)
    if fault is not None:
        return fail(
            subject,
            f"{asked} sends clients to this address, but {fault.cause}",
            "correct advertised.listeners of that broker to what clients can reach",
        )
    try:
        found = read_metadata(target, advertised).cluster_id
    except HeadraceError as error:
        return warn(subject, f"its metadata cannot be read ({error})", "run doctor again")
    if found != cluster_id:
        return fail(
            subject,
            f"the broker there belongs to cluster {found}, not {cluster_id}",
            "correct advertised.listeners, or stop the broker that took the port",
        )
    if _is_loopback(advertised.host) and not _is_loopback(asked.host):
        return warn(
            subject,
            f"a loopback address is advertised to clients of {asked}",
            "set advertised.listeners to an address that other machines can reach",
        )
    return ok(subject, "the advertised address can be reached")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(socket.gethostbyname(host)).is_loopback
    except (OSError, ValueError):
        return False
