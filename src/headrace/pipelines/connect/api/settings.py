"""Where the REST API listens and whom it lets in, of a worker's settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from headrace.errors import ConfigError
from headrace.http.listeners import Listener
from headrace.http.settings import READERS, HttpSettings, check
from headrace.pipelines.connect.config.worker import WorkerConfig

_EVERYWHERE: Final = "0.0.0.0"
_MAX_BYTES: Final = 4 << 20
_OF_LISTENERS: Final = "listeners.https."
_CLIENT_AUTH: Final = "ssl.client.auth"
_HTTP_OWN: Final = ("request.max.bytes", "access.control.allow.host")


def http_settings(config: WorkerConfig) -> HttpSettings:
    """The settings of the HTTP service; ConfigError for what cannot be."""
    if config.values["admin.listeners"]:
        raise ConfigError(
            "admin.listeners names addresses of its own: leave it out to have /admin where the "
            "rest is, or empty to have it nowhere"
        )
    given = {
        "access.control.allow.origin": config.text("access.control.allow.origin"),
        "access.control.allow.methods": config.text("access.control.allow.methods").upper(),
        **{name: config.given[name] for name in _HTTP_OWN if name in config.given},
        **{name: value for name, value in config.given.items() if name.startswith("ssl.")},
        **config.under(_OF_LISTENERS),
    }
    if given.get(_CLIENT_AUTH):
        given["ssl.client.authentication"] = given[_CLIENT_AUTH]
    read = {}
    for name, text in given.items():
        if text and name in READERS:
            field, reader = READERS[name]
            read[field] = reader(name, text.strip())
    settings = HttpSettings(
        **{
            "request_max_bytes": _MAX_BYTES,
            "host_name": config.text("rest.advertised.host.name"),
            **read,
            "listeners": tuple(map(_listener, config.listed("listeners"))),
        }
    )
    check(settings)
    return settings


def _listener(address: str) -> Listener:
    parts = urlsplit(address)
    assert parts.port is not None, "settings are checked"
    return Listener(parts.scheme, parts.hostname or _EVERYWHERE, parts.port)


def advertised(config: WorkerConfig, bound: Sequence[Listener]) -> Listener:
    """Where other workers find this one, of what it listens on."""
    scheme = config.text("rest.advertised.listener").lower() or bound[0].scheme
    chosen = next((each for each in bound if each.scheme == scheme), None)
    if chosen is None:
        raise ConfigError(
            f"rest.advertised.listener={scheme}: listeners has no address of that kind"
        )
    port = config.values["rest.advertised.port"]
    named = chosen.advertised(config.text("rest.advertised.host.name"))
    return named if not isinstance(port, int) else named._replace(port=port)
