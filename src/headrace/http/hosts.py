"""Which names a service answers to: those of its listeners, its own, and those that are set.

A web page can let its name resolve to the address of this machine (DNS rebinding). For the browser
the page and the service are one site then, and only the Host header tells which name was called. So
a name that is not the service's own is rejected. Addresses cannot be rebound: where a listener has
every address of the machine, any address will do.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from headrace.http.listeners import EVERYWHERE

EVERY_NAME: Final = "*"
_LOCAL_NAMES: Final = ("localhost", "localhost.localdomain", "ip6-localhost")
_REMEMBERED: Final = 1_024
_MAX_REMEMBERED: Final = 300
"""Longer headers are not cached: the caller is not authenticated yet."""
_MAX_PORT: Final = 65_535
_MAX_PORT_DIGITS: Final = 5


class OwnNames:
    """`listening` are the hosts of the listeners; `also` are further names, `*.suffix` and `*`."""

    def __init__(self, listening: Iterable[str], also: Iterable[str] = ()) -> None:
        hosts = [_plain(each) for each in listening]
        others = [host_name(each) or _plain(each) for each in also if each]
        self._is_everywhere = any(each in EVERYWHERE for each in hosts)
        self._is_local = self._is_everywhere or any(map(is_loopback, hosts))
        self._takes_all = EVERY_NAME in others
        self._suffixes = tuple(each[1:] for each in others if each.startswith("*."))
        self._names = {each for each in (*hosts, *others) if each and not each.startswith("*")}
        if self._is_everywhere:
            self._names.add(_plain(socket.gethostname()))
        if self._is_local:
            self._names.update(_LOCAL_NAMES)
        self._accepted: set[str] = set()

    def has(self, header: str, local_address: str = "") -> bool:
        """Whether a Host header names this service; `local_address` is where the client came in."""
        if header in self._accepted:
            return True
        name = host_name(header)
        if name is None or not (name == _plain(local_address) or self._is_own(name)):
            return False
        if len(header) <= _MAX_REMEMBERED:
            if len(self._accepted) >= _REMEMBERED:
                self._accepted.clear()
            self._accepted.add(header)
        return True

    def _is_own(self, name: str) -> bool:
        if self._takes_all or name in self._names or name.endswith(self._suffixes):
            return True
        if _address(name) is None:
            return False
        return self._is_everywhere or (self._is_local and is_loopback(name))


def host_name(header: str) -> str | None:
    """The name or address in a Host header, without the port; None if it cannot be read.

    An address may be written in several ways, and is returned in one.
    """
    text = header.strip().lower()
    if text.startswith("["):
        name, bracket, port = text[1:].partition("]")
        if not bracket or _address(name) is None:
            return None
    else:
        name, colon, port = text.partition(":")
        port = colon + port
        name = name.removesuffix(".")
    if not name or any(sign in name for sign in "/@?#\\ ,[]"):
        return None
    if port and not (port.startswith(":") and _is_port(port[1:])):
        return None
    return _spelled(name)


def _is_port(digits: str) -> bool:
    """Whether it may stand behind the colon; nothing may, too."""
    if not digits:
        return True
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MAX_PORT_DIGITS
    return is_number and int(digits) <= _MAX_PORT


def _plain(name: str) -> str:
    return _spelled(name.strip().strip("[]").lower().removesuffix("."))


def _spelled(name: str) -> str:
    """The one spelling of an address that is compared; a name as it is."""
    address = _address(name)
    return name if address is None else str(address)


def _address(name: str) -> IPv4Address | IPv6Address | None:
    """The address without its zone, which means something on the caller's machine only."""
    try:
        return ip_address(name.partition("%")[0])
    except ValueError:
        return None


def is_loopback(name: str) -> bool:
    """Whether only this machine can call it so."""
    address = _address(name)
    return name in _LOCAL_NAMES if address is None else address.is_loopback
