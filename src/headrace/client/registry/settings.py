"""Where a Schema Registry is and how to sign in, from the names that Confluent's clients share.

Names are read with and without the prefix `schema.registry.`, as Java's serializers and the Python
client write them. Key stores must be PEM files. The module opens no file and no connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError

PREFIX: Final = "schema.registry."
DEFAULT_TIMEOUT_MS: Final = 30_000
_SOURCES: Final = ("URL", "USER_INFO", "SASL_INHERIT")


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """How to reach a registry. Hashable and picklable: it travels to workers and keys caches."""

    urls: tuple[str, ...]
    user_info: str | None = field(default=None, repr=False)
    bearer_token: str | None = field(default=None, repr=False)
    tls: ClientSettings | None = None
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    latest_ttl_s: float = 5.0
    cache_capacity: int = 1000

    @classmethod
    def at(cls, url: str) -> RegistrySettings:
        """The settings for these addresses (several by commas) and nothing else."""
        return registry_settings({"schema.registry.url": url})


def registry_settings(properties: Mapping[str, str]) -> RegistrySettings:
    """Read the settings among these properties; other names are left to others."""
    values = {name.removeprefix(PREFIX): str(text).strip() for name, text in properties.items()}
    urls, in_url = _addresses(values.get("url", ""))
    return RegistrySettings(
        urls=urls,
        user_info=_user_info(values, in_url),
        bearer_token=values.get("bearer.auth.token") or None,
        tls=_tls(values) if any(url.startswith("https:") for url in urls) else None,
        timeout_ms=_milliseconds(values.get("request.timeout.ms", str(DEFAULT_TIMEOUT_MS))),
    )


def _addresses(text: str) -> tuple[tuple[str, ...], str | None]:
    """The addresses without credentials, and the credentials that one of them had."""
    urls: list[str] = []
    user_info = None
    for part in filter(None, map(str.strip, text.split(","))):
        split = urlsplit(part)
        try:
            usable = split.scheme in ("http", "https") and split.hostname and split.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ConfigError(
                f"schema.registry.url={text!r}: {part!r} is not an address such as http://host:8081"
            )
        credentials, at, host = split.netloc.rpartition("@")
        if at:
            user_info = unquote(credentials)
        urls.append(urlunsplit((split.scheme, host, split.path.rstrip("/"), "", "")))
    if not urls:
        raise ConfigError(
            f"schema.registry.url={text!r} names no registry: give http://host:8081, "
            "several by commas"
        )
    return tuple(urls), user_info


def _user_info(values: Mapping[str, str], in_url: str | None) -> str | None:
    given = values.get("basic.auth.user.info") or None
    default = "USER_INFO" if given else "URL"
    source = values.get("basic.auth.credentials.source", default).upper()
    if source not in _SOURCES:
        raise ConfigError(
            f"basic.auth.credentials.source={source!r}: allowed are {', '.join(_SOURCES)}"
        )
    if source == "SASL_INHERIT":
        given = f"{values.get('sasl.username', '')}:{values.get('sasl.password', '')}"
    chosen = in_url if source == "URL" else given
    if chosen is not None and ":" not in chosen:
        raise ConfigError("basic.auth.user.info has no colon: give user:password")
    return chosen


def _tls(values: Mapping[str, str]) -> ClientSettings:
    """The TLS half of a Kafka client's settings is what HTTPS needs as well."""
    relevant = {
        name: text for name, text in values.items() if name.startswith(("ssl.", "enable.ssl."))
    }
    settings, _ = client_settings(
        {"bootstrap.servers": "unused:1", "security.protocol": "SSL", **relevant}
    )
    return settings


def _milliseconds(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 0x7FFFFFFF:
        raise ConfigError(f"request.timeout.ms={text!r}: allowed are 1 to 2147483647")
    return int(text)
