"""Readers of settings, and the settings that every HTTP service has.

A reader gets the name of a setting and its text, and gives the value or a ConfigError that names
both and what is allowed. `READERS` maps the names of settings to a field and its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from headrace.errors import ConfigError
from headrace.http.listeners import Listener, parse_listeners

Reader: TypeAlias = Callable[[str, str], Any]

CLIENT_AUTHENTICATION: Final = ("NONE", "REQUESTED", "REQUIRED")


def text_of(name: str, text: str) -> str:
    return text


def name_of(name: str, text: str) -> str:
    if not text:
        raise ConfigError(f"{name} is empty: give a name, or leave the key out")
    return text


def words_of(name: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def flag_of(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigError(f"{name}={text!r}: allowed are true and false")
    return text.lower() == "true"


def number(least: int, most: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        digits = text.removeprefix("-")
        if not digits.isdecimal() or not least <= int(text) <= most:
            raise ConfigError(f"{name}={text!r}: allowed are whole numbers from {least} to {most}")
        return int(text)

    return read


def choice(*allowed: str, fold: Callable[[str], str] = str.upper) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if fold(text) not in allowed:
            raise ConfigError(f"{name}={text!r}: allowed are {', '.join(allowed)}")
        return fold(text)

    return read


def _port(name: str, text: str) -> tuple[Listener, ...]:
    return parse_listeners(name, f"http://0.0.0.0:{text}")


MILLISECONDS: Final = number(1, 0x7FFFFFFF)
COUNT: Final = number(1, 0x7FFFFFFF)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Every setting with its default; where to listen and how much to take is the service's own."""

    listeners: tuple[Listener, ...]
    host_name: str = ""
    request_max_bytes: int
    request_timeout_ms: int = 30_000
    idle_timeout_ms: int = 30_000
    authentication_method: str = "NONE"
    authentication_realm: str = "headrace"
    authentication_users_file: str | None = None
    authentication_failures_per_minute: int = 20
    allow_host: tuple[str, ...] = ()
    allow_origin: tuple[str, ...] = ()
    allow_methods: tuple[str, ...] = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
    allow_headers: tuple[str, ...] = ("*",)
    ssl_certificate_location: str | None = None
    ssl_key_location: str | None = None
    ssl_key_password: str | None = field(default=None, repr=False)
    ssl_ca_location: str | None = None
    ssl_client_authentication: str = "NONE"

    def advertised(self, bound: Listener) -> Listener:
        """How other instances reach the listener that was bound."""
        return bound.advertised(self.host_name)


def check(settings: HttpSettings) -> None:
    """What must not be left out beside other settings."""
    schemes = {listener.scheme for listener in settings.listeners}
    if "https" in schemes and settings.ssl_certificate_location is None:
        raise ConfigError(
            "listeners has an https address: set ssl.keystore.location to a PEM file with the key "
            "and its certificates (or ssl.certificate.location and ssl.key.location)"
        )
    if settings.authentication_method == "BASIC" and settings.authentication_users_file is None:
        raise ConfigError(
            "authentication.method=BASIC needs users: set authentication.users.file to a file "
            "with lines `name: password, role`"
        )


READERS: Final[Mapping[str, tuple[str, Reader]]] = {
    "listeners": ("listeners", parse_listeners),
    "port": ("listeners", _port),
    "host.name": ("host_name", name_of),
    "request.max.bytes": ("request_max_bytes", number(1, 1 << 30)),
    "request.timeout.ms": ("request_timeout_ms", MILLISECONDS),
    "idle.timeout.ms": ("idle_timeout_ms", MILLISECONDS),
    "authentication.method": ("authentication_method", choice("NONE", "BASIC")),
    "authentication.realm": ("authentication_realm", name_of),
    "authentication.users.file": ("authentication_users_file", name_of),
    "authentication.failures.per.minute": (
        "authentication_failures_per_minute",
        number(1, 1_000_000),
    ),
    "access.control.allow.host": ("allow_host", words_of),
    "access.control.allow.origin": ("allow_origin", words_of),
    "access.control.allow.methods": ("allow_methods", words_of),
    "access.control.allow.headers": ("allow_headers", words_of),
    "ssl.certificate.location": ("ssl_certificate_location", name_of),
    "ssl.keystore.location": ("ssl_certificate_location", name_of),
    "ssl.key.location": ("ssl_key_location", name_of),
    "ssl.key.password": ("ssl_key_password", text_of),
    "ssl.ca.location": ("ssl_ca_location", name_of),
    "ssl.truststore.location": ("ssl_ca_location", name_of),
    "ssl.client.authentication": ("ssl_client_authentication", choice(*CLIENT_AUTHENTICATION)),
}
# Settings of the JVM's services that have no meaning here.
WITHOUT_EFFECT: Final = frozenset(
    {
        "access.control.skip.options",
        "compression.enable",
        "metric.reporters",
        "request.logger.name",
        "response.mediatype.preferred",
        "shutdown.graceful.ms",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.protocol",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
