"""Listeners of HTTP services: read from settings, bound, and as others reach them."""

from __future__ import annotations

import socket
from typing import Final, NamedTuple

from headrace.errors import ConfigError

BACKLOG: Final = 1_024
EVERYWHERE: Final = ("0.0.0.0", "::", "")


class Listener(NamedTuple):
    """Where HTTP is spoken; port 0 takes a free one."""

    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def advertised(self, host_name: str) -> Listener:
        """How others reach it: by the name that is set, or by that of this machine."""
        host = host_name or self.host
        return self._replace(host=socket.gethostname() if host in EVERYWHERE else host)


def parse_listeners(name: str, text: str) -> tuple[Listener, ...]:
    """The listeners of a setting, such as `http://0.0.0.0:8081,https://0.0.0.0:8443`."""
    found = tuple(parse_listener(name, part.strip()) for part in text.split(",") if part.strip())
    if not found:
        raise ConfigError(f"{name}={text!r}: give at least one, such as http://0.0.0.0:8081")
    return found


def parse_listener(name: str, part: str) -> Listener:
    scheme, separator, rest = part.partition("://")
    host, _, port = rest.rstrip("/").rpartition(":")
    allowed = scheme.lower() in ("http", "https") and separator
    if not allowed or not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(
            f"{name}={part!r}: allowed are http://host:port and https://host:port, several by "
            "commas, ports from 0 to 65535"
        )
    return Listener(scheme.lower(), host.strip("[]"), int(port))


def bind(listener: Listener) -> tuple[socket.socket, Listener]:
    """A socket that is bound there, and where that is; it does not listen yet."""
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((listener.host, listener.port))
    except OSError as error:
        bound.close()
        raise ConfigError(
            f"listeners: {listener.url} cannot be listened on ({error.strerror or error}): "
            "choose another address, or stop what uses it"
        ) from None
    bound.setblocking(False)
    return bound, listener._replace(port=bound.getsockname()[1])
