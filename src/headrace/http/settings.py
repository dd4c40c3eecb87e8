"""Readers of settings, and the settings that every HTTP service has.

A reader gets the name of a setting and its text, and gives the value or a ConfigError that names
both and what is allowed. `READERS` maps the names of settings to a field and its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

FAILURES_PER_MINUTE: Final = 20
ALLOW_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
ALLOW_HEADERS: Final = ("*",)

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
