"""`zookeeper.connect` as Kafka reads it: servers with ports, and one chroot for all of them."""

from __future__ import annotations

from typing import Final

from headrace.coordination.tree import InvalidNode, check_path
from headrace.errors import ConfigError

DEFAULT_PORT: Final = 2181


def parse_connect(text: str) -> tuple[str, str]:
    """`"a:1,b/kafka"` is `("a:1,b:2181", "/kafka")`; the chroot is empty if there is none."""
    servers, slash, chroot = text.strip().partition("/")
    found = [_server(text, server.strip()) for server in servers.split(",")]
    path = (slash + chroot).rstrip("/")
    try:
        check_path(path or "/")
    except InvalidNode as error:
        raise ConfigError(f'zookeeper.connect "{text}" has a wrong chroot: {error}') from None
    return ",".join(found), path


def _server(text: str, server: str) -> str:
    host, colon, port = server.rpartition(":")
    if not colon or server.endswith("]"):
        host, port = server, str(DEFAULT_PORT)
    # An IPv6 address has colons of its own and must be bracketed.
    if not host or (":" in host and not host.startswith("[")) or any(map(str.isspace, host)):
        raise _wrong(text, server)
    if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise _wrong(text, server)
    return f"{host}:{port}"


def _wrong(text: str, server: str) -> ConfigError:
    return ConfigError(
        f'zookeeper.connect "{text}" has "{server}" where host:port should be; '
        "write host:port,host:port/chroot"
    )
