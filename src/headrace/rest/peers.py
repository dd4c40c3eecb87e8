"""The other instances of the proxy, and how a request reaches the one that owns a consumer.

A consumer lives in the instance that created it. Any instance that is asked for one it does not
have passes the request on: first to whoever had it last time, then to each of the others; those
that do not have it answer 40403, which changes nothing. A passed-on request is marked and never
passed on again, and so is the owner's answer to it: what stands in front of the consumers (names,
users, limits, a load balancer) may reject a request, too, and that says nothing about a consumer.

Addresses come from the setting `peers`, or from the members of a Kafka group in which each tells
its own; never from a request, so nobody can make the proxy call elsewhere. With authentication only
the setting counts, because credentials travel with the request.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import msgspec

from headrace.client.membership import Assignment, GroupMember, GroupProtocol
from headrace.client.registry.cache import Cache
from headrace.client.registry.pool import NoAnswer, Pool, Reply
from headrace.client.settings import ClientSettings
from headrace.client.tls import tls_context

if TYPE_CHECKING:
    from headrace.http.listeners import Listener
    from headrace.rest.settings import RestSettings

logger = logging.getLogger("kafkarest.peers")

FORWARDED: Final = "x-forward"
OWNED: Final = "x-forward-owner"
"""Marks what the owner answers to a request that was passed on."""
_THREADS: Final = 16
_TIMEOUT_S: Final = 90.0
_MAX_PEERS: Final = 100
_SHOWN_BYTES: Final = 200
_PASSED_ON: Final = ("accept", "content-type", "authorization")
_NOT_HERE: Final = b'"error_code":40403'
_NOT_OF_AN_OWNER: Final = frozenset({401, 403, 421, 429})
_urls = msgspec.json.Decoder(list[str])


class Peers:
    """Who else there is."""

    def __init__(self, settings: RestSettings) -> None:
        self._settings = settings
        self._own = ""
        self._others: tuple[str, ...] = ()
        self._member: GroupMember | None = None
        self._owners: Cache[tuple[str | None, str, str], str] = Cache(10_000)
        self._pools: dict[str, Pool] = {}
        self._executor: ThreadPoolExecutor | None = None

    def start(self, bound: Listener) -> None:
        """Learn who the others are."""
        settings = self._settings
        self._own = settings.advertised(bound).url
        if settings.peers:
            self._others = tuple(url for url in settings.peers if url not in (self._own, bound.url))
        elif settings.peer_discovery == "GROUP" and settings.authentication_method == "NONE":
            self._member = GroupMember(
                settings.client_settings(),
                GroupProtocol(settings.peer_group_id, "kafka-rest", "v0"),
                metadata=self._own.encode,
                assign=_tell_everybody,
                on_assigned=self._on_assigned,
                on_lost=lambda: None,
            )
            self._member.start()

    @property
    def others(self) -> tuple[str, ...]:
        return self._others

    def _on_assigned(self, assignment: Assignment) -> None:
        try:
            urls = _urls.decode(assignment.data)[:_MAX_PEERS]
        except msgspec.MsgspecError as error:
            logger.warning("the group %s said %s", self._settings.peer_group_id, error)
            return
        self._others = tuple(url for url in urls if url != self._own and _is_address(url))

    async def ask_owner(
        self,
        owned: tuple[str | None, str, str],
        method: str,
        target: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Reply | None:
        """The answer of the instance that has this consumer (user, group, name); None for none."""
        passed = {name: text for name, text in (headers or {}).items() if name in _PASSED_ON}
        passed[FORWARDED] = "true"
        likely = self._owners.get(owned)
        others = self._others
        for url in sorted(others, key=lambda each: each != likely):
            reply = await self._send(url, method, target, body, passed)
            if reply is None or (reply.status == 404 and _NOT_HERE in reply.body):
                continue
            # The last known owner is believed until it answers that it has no such instance.
            if url == likely or _is_of_an_owner(reply):
                self._owners.put(owned, url)
                return reply
            logger.warning(
                "the instance %s answered %d to a request that was passed on, so whether it has "
                "the consumer %r is not known: %r",
                *(url, reply.status, owned[2], reply.body[:_SHOWN_BYTES]),
            )
        return None

    async def _send(
        self, url: str, method: str, target: str, body: bytes, headers: Mapping[str, str]
    ) -> Reply | None:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(_THREADS, thread_name_prefix="rest-peers")
        pool = self._pools.get(url)
        if pool is None:
            pool = self._pools[url] = Pool(
                [url], timeout_s=_TIMEOUT_S, tls=self._tls() if url.startswith("https") else None
            )
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._executor, pool.request, method, target, body or None, headers
            )
        except NoAnswer as error:
            logger.warning("the instance %s does not answer: %s", url, error)
            return None

    def _tls(self) -> ssl.SSLContext | None:
        return tls_context(
            ClientSettings(
                bootstrap_servers=(),
                security_protocol="SSL",
                ssl_ca_location=self._settings.ssl_ca_location,
            )
        )

    async def close(self) -> None:
        """Leave the group."""
        if self._member is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._member.close)
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
        for pool in self._pools.values():
            pool.close()


def _tell_everybody(members: Mapping[str, bytes]) -> Mapping[str, bytes]:
    urls = sorted({data.decode(errors="replace") for data in members.values()})
    told = msgspec.json.encode(urls)
    return dict.fromkeys(members, told)


def _is_of_an_owner(reply: Reply) -> bool:
    """Whether a route for consumers has answered, and nothing in front of it."""
    is_doubtful = reply.status in _NOT_OF_AN_OWNER or reply.status >= 500
    return not is_doubtful or OWNED in reply.headers


def _is_address(url: str) -> bool:
    return url.startswith(("http://", "https://"))
