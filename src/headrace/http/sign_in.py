"""Who asks: HTTP's basic authentication in front of every route, and a limit for wrong passwords.

A wrong password takes as long as a right one, one is checked at a time, and who was wrong too often
waits (429) before another one is checked. That is counted for each name that an address tries,
since behind a proxy one address has many clients, and more generously for the address as a whole,
since names cost nothing. What was proven lately costs nothing and is never held up. The routes find
the user as `scope["user"]`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final, Protocol

from headrace.http.limits import RateLimit
from headrace.http.refusals import Application, Receive, Refusal, Refuse, Scope, Send

_TOO_MANY: Final = 42901
_SECONDS: Final = 60
_NAMES_PER_ADDRESS: Final = 10
"""How many users of one address may be wrong as often as a user may be."""
_OF_MANY_HOSTS: Final = (IPv6Network("fe80::/10"), IPv6Network("fc00::/7"))
"""Local networks, of which every host has one address or few; elsewhere a host may have a /64."""


class Authenticator(Protocol):
    """From an Authorization header to a user."""

    def claimed_name(self, header: bytes) -> str:
        """Who the header says it comes from, of a bounded length; empty if it cannot be read."""

    def remembered(self, header: bytes, now_s: float) -> object | None:
        """The user, if the same was proven or used lately; costs next to nothing."""

    def check(self, header: bytes, now_s: float) -> object | None:
        """The user that the header proves; None if it proves none. Slow, may run in a thread."""


class SignIn:
    """ASGI middleware; requests for `open_paths` need no user."""

    def __init__(
        self,
        app: Application,
        *,
        authenticator: Authenticator,
        realm: str,
        failures_per_minute: int,
        open_paths: Collection[str],
        error_code: int,
        refuse: Refuse,
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._open_paths = open_paths
        self._refuse = refuse
        self._of_names = RateLimit(failures_per_minute / _SECONDS, failures_per_minute)
        together = failures_per_minute * _NAMES_PER_ADDRESS
        self._of_addresses = RateLimit(together / _SECONDS, together)
        self._turn = asyncio.Lock()
        quoted = realm.replace("\\", "\\\\").replace('"', '\\"')
        self._unknown = Refusal(
            401,
            "Authentication required: send a user and a password (Basic)",
            error_code,
            ((b"www-authenticate", f'Basic realm="{quoted}", charset="UTF-8"'.encode()),),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject, or pass on with the user."""
        if scope["type"] in ("http", "websocket") and not self._is_open(scope["path"]):
            found = await self._user(scope)
            if isinstance(found, Refusal):
                await self._refuse(found, scope, receive, send)
                return
            scope["user"] = found
        await self._app(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        """The routes behind do not care for slashes at the end."""
        return (path.rstrip("/") or "/") in self._open_paths

    async def _user(self, scope: Scope) -> object:
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if not header:
            return self._unknown
        known = self._authenticator.remembered(header, time.monotonic())
        return known if known is not None else await self._checked(header, _address(scope))

    async def _checked(self, header: bytes, address: str) -> object:
        # One at a time: many guesses at once are counted like one after the other, and cost no
        # more than one processor.
        async with self._turn:
            now_s = time.monotonic()
            known = self._authenticator.remembered(header, now_s)
            if known is not None:
                return known
            name = self._authenticator.claimed_name(header)
            wait_s = self._wait_s(address, name, now_s)
            if wait_s:
                return Refusal(
                    429,
                    f"Too many failed logins from {address}: try again in {wait_s} s",
                    _TOO_MANY,
                    ((b"retry-after", b"%d" % wait_s),),
                )
            loop = asyncio.get_running_loop()
            user = await loop.run_in_executor(None, self._authenticator.check, header, now_s)
            if user is None:
                return self._unknown
            self._of_names.give_back(_tried(address, name))
            self._of_addresses.give_back(address)
            return user

    def _wait_s(self, address: str, name: str, now_s: float) -> int:
        """0 and a permit less of both kinds, or after how many seconds there will be one."""
        # The address first: one that has to wait cannot fill the table of names.
        wait_s = self._of_addresses.wait_s(address, now_s)
        if not wait_s:
            wait_s = self._of_names.wait_s(_tried(address, name), now_s)
            if wait_s:
                self._of_addresses.give_back(address)
        return wait_s


def _tried(address: str, name: str) -> str:
    return f"{address} {name}"


def _address(scope: Scope) -> str:
    """The client's address; a network of global IPv6 counts as one, since a host has all of it."""
    client = scope.get("client")
    text = str(client[0]) if client else ""
    try:
        address = ip_address(text)
    except ValueError:
        return text
    if not isinstance(address, IPv6Address):
        return text
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    if any(address in network for network in _OF_MANY_HOSTS):
        return str(address)
    return f"{IPv6Address(int(address) >> 64 << 64)}/64"
