"""How Kafka's administrative tools judge their flags and reach a cluster.

`--zookeeper`, which Kafka took until its version 3, is answered by asking the brokers that are
registered there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Final

from headrace.admin.client import Admin
from headrace.cli.asking import connect
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.kafka_compat.flags import Given
from headrace.cli.small_files import read_properties
from headrace.cli.target import Target, parse_target
from headrace.errors import HeadraceError

FAILED: Final = 1
_BROKERS: Final = "/brokers/ids"
_ZOOKEEPER_TIMEOUT_MS: Final = 6_000
CONNECTING: Final = "--bootstrap-server= --command-config="


class Told(HeadraceError):
    """What a tool prints before it ends with 1, word for word."""


def need(given: Given, *flags: str) -> None:
    """Refuse a command line that lacks one of these."""
    for flag in flags:
        if not given.has(flag):
            raise Told(f'Missing required argument "[{flag[2:]}]"')


def one_of(given: Given, *flags: str) -> str:
    """The one flag of these that was given."""
    found = [flag for flag in flags if given.has(flag)]
    if len(found) != 1:
        raise Told(f"Command must include exactly one action: {', '.join(flags)}")
    return found[0]


def refuse_together(given: Given, flag: str, *others: str) -> None:
    """Refuse a command line that has a flag together with one of these."""
    for other in others:
        if given.has(flag) and given.has(other):
            raise Told(f'Option "[{flag[2:]}]" can\'t be used with option "[{other[2:]}]"')


def as_whole_number(given: Given, flag: str) -> int | None:
    try:
        return given.number(flag)
    except WrongUsage:
        text = given.text(flag)
        raise Told(f"Cannot parse argument '{text}' of option {flag[2:]}") from None


def open_admin(servers: str, config: str | None, timeout_ms: int | None = None) -> Admin:
    """A client for these brokers with the settings of a properties file."""
    limits = {} if timeout_ms is None else {"default.api.timeout.ms": str(timeout_ms)}
    return connect(target_of(servers, config, limits), is_strict=False)


def target_of(servers: str, config: str | None, more: Mapping[str, str] = {}) -> Target:
    """These brokers, with the settings of a properties file and with these."""
    properties = {**({} if config is None else read_properties(config)), **more}
    return parse_target(servers, [f"{key}={value}" for key, value in properties.items()])


def complain(text: str) -> int:
    """Print to stderr and fail."""
    if text:
        print(text, file=sys.stderr)
    return FAILED


def bare(error: HeadraceError) -> str:
    """What happened, without the remedy that our own commands add."""
    return error.cause if isinstance(error, Failure) else str(error)


def brokers_in_zookeeper(
    hosts: str, advice: str = "--zookeeper is deprecated, use --bootstrap-server"
) -> str:
    """The addresses of the brokers that are registered below this connect string."""
    from headrace.coordination import zookeeper

    print(
        f"headrace: {advice}; connecting to the brokers registered at {hosts}",
        file=sys.stderr,
    )
    tree = zookeeper.connect(hosts, connection_timeout_ms=_ZOOKEEPER_TIMEOUT_MS)
    try:
        nodes = tree.subtree(_BROKERS)
    finally:
        tree.close()
    registered = [json.loads(node.data) for path, node in nodes.items() if path != _BROKERS]
    addresses = [
        endpoint.partition("://")[2] for each in registered for endpoint in each["endpoints"][:1]
    ]
    if not addresses:
        raise Told(f"No broker is registered at {hosts}")
    return ",".join(addresses)
