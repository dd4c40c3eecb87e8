"""The brokers that a command talks to: their addresses and the settings of the client.

Addresses are read here once, so that a misspelt one is rejected with the same words everywhere.
A client.properties often names the schema registry too; those settings are kept apart, because a
client of the brokers rejects them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from headrace.cli import profiles
from headrace.cli.failures import WrongUsage
from headrace.cli.small_files import read_properties

DEFAULT_PORT: Final = 9092
_ADDRESS = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[([0-9A-Fa-f:.%]+)\]|([^:/\[\]\s]+))(?::([0-9]{1,5}))?"
)


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Target(NamedTuple):
    """What `-b` and `-X` say."""

    addresses: tuple[Address, ...]
    properties: Mapping[str, str]
    registry_properties: Mapping[str, str] = {}

    @property
    def servers(self) -> str:
        return ",".join(map(str, self.addresses))

    @property
    def tls(self) -> bool:
        return "ssl" in self.properties.get("security.protocol", "").lower()


def parse_target(servers: str, properties: Iterable[str]) -> Target:
    """The target, or a usage error that shows the text at fault.

    What the profile in force says of these brokers holds where `properties` do not say otherwise.
    """
    addresses = tuple(parse_address(text.strip()) for text in servers.split(",") if text.strip())
    if not addresses:
        raise WrongUsage("no bootstrap server is named", "write -b HOST:PORT")
    settings = profiles.settings_for_servers(servers)
    for entry in properties:
        if entry.startswith("@"):
            settings.update(read_properties(entry[1:], f"-X {entry}"))
            continue
        key, equals, value = entry.partition("=")
        if not equals:
            raise WrongUsage(f'-X "{entry}" has no value', "write -X KEY=VALUE or -X @FILE")
        settings[key.strip()] = value.strip()
    registry = {key: value for key, value in settings.items() if profiles.is_of_registry(key)}
    brokers = {key: value for key, value in settings.items() if key not in registry}
    return Target(addresses, brokers, registry)


def parse_address(text: str) -> Address:
    """`host`, `host:port` or `[ipv6]:port`, with or without a protocol in front."""
    match = _ADDRESS.fullmatch(text)
    port = int(match[3] or DEFAULT_PORT) if match else 0
    if match is None or not 0 < port < 65536:
        raise WrongUsage(f'"{text}" is not an address', "write HOST:PORT, for IPv6 [HOST]:PORT")
    return Address(match[1] or match[2], port)
