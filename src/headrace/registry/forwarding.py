"""A write that came to a follower, carried to the primary.

One hop: the header `X-Forward` says that a request was carried already, so that two instances which
take each other for the primary cannot play ball with it. The answer goes back as it came. A
connection is made for each request: writes through followers are few, and one that is not reused
leaves no doubt whether the primary has seen the request.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from typing import Final, NamedTuple

from headrace.errors import ConfigError, HeadraceError
from headrace.registry import errors
from headrace.registry.election import Identity
from headrace.registry.settings import RegistrySettings

FORWARD_HEADER: Final = "x-forward"
NOT_PRIMARY_HEADER: Final = "x-headrace-not-primary"
"""On the answer of an instance that a request was carried to in vain: nothing was done."""

_PASSED_ON: Final = (
    "accept",
    "authorization",
    "content-type",
    "confluent-accept-unknown-properties",
    "confluent-client-version",
)
_MAX_ANSWER_BYTES: Final = 64 << 20
_NOT_SENT: Final = re.compile(r"[^\x21-\x7e]")


class Carried(NamedTuple):
    """A request as it is sent on: the target is path and query, still percent-encoded."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class CarriedBack(NamedTuple):
    """The primary's answer."""

    status: int
    media_type: str
    body: bytes


class NotDone(HeadraceError):
    """The primary was not reached, or is none: nothing has happened, so it may be tried again."""


def target_of(path: str, query: str) -> str:
    """Path and query in characters that may be sent; anything else is percent-encoded."""
    target = f"{path}?{query}" if query else path
    return _NOT_SENT.sub(lambda found: f"%{ord(found[0]):02X}", target)


def passed_on(headers: dict[str, str]) -> dict[str, str]:
    """Of the headers of a request, those that the primary must see."""
    return {name: headers[name] for name in _PASSED_ON if name in headers}


class Forwarder:
    """Blocking; for any number of threads."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._connect_s = min(settings.leader_connect_timeout_ms / 1000, 5.0)
        self._read_s = settings.leader_read_timeout_ms / 1000
        self._tls = _client_context(settings)

    def forward(self, primary: Identity, request: Carried) -> CarriedBack:
        """The primary's answer; `NotDone` if it may be tried again, 50003 if that is not known."""
        connection = self._connect(primary)
        try:
            connection.request(
                request.method,
                request.target,
                body=request.body or None,
                headers={**request.headers, FORWARD_HEADER: "true", "connection": "close"},
            )
            response = connection.getresponse()
            if response.length is None or response.length > _MAX_ANSWER_BYTES:
                raise http.client.HTTPException("an answer without a length, or with too much")
            # Without a number: only then an answer that breaks off is an error.
            body = response.read()
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise errors.forwarding_failed(
                f"Error while forwarding the request to the primary {primary.url}: {error!r}"
            ) from error
        finally:
            connection.close()
        if response.getheader(NOT_PRIMARY_HEADER) is not None:
            raise NotDone(f"{primary.url} is not the primary")
        media_type = response.getheader("content-type") or "application/json"
        return CarriedBack(response.status, media_type, body)

    def _connect(self, primary: Identity) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection
        if primary.scheme == "https":
            connection = http.client.HTTPSConnection(
                primary.host, primary.port, timeout=self._connect_s, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(
                primary.host, primary.port, timeout=self._connect_s
            )
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NotDone(f"the primary {primary.url} cannot be reached: {error}") from None
        opened: socket.socket = connection.sock
        opened.settimeout(self._read_s)
        return connection


def _client_context(settings: RegistrySettings) -> ssl.SSLContext | None:
    """How this instance speaks to others over TLS: it trusts and shows what it also serves with."""
    if settings.inter_instance_protocol != "https":
        return None
    try:
        context = ssl.create_default_context(cafile=settings.ssl_ca_location)
        if settings.ssl_certificate_location is not None:
            context.load_cert_chain(
                settings.ssl_certificate_location,
                settings.ssl_key_location,
                settings.ssl_key_password or "",
            )
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"the PEM files of ssl.* cannot be used ({error}): check ssl.keystore.location, "
            "ssl.key.password and ssl.truststore.location"
        ) from None
    return context
