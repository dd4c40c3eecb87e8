"""`headrace zookeeper`: a real ZooKeeper server, or an ensemble of them, in the foreground.

    WHAT HAPPENS              WHAT IS DONE
    SIGTERM, Ctrl-C           all servers are stopped in good order; exit code 0
    the only server dies      so does the command, with exit code 1
    one of several dies       the others serve on, and it is started again
    the command is killed     the kernel stops the servers

The server's own log is `zookeeper.log` in its folder.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.parameters import option
from headrace.cli.small_files import read_properties

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer

DEFAULT_PORT: Final = 2181
DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_HEAP_MB: Final = 64
READY_TIMEOUT_S: Final = 60.0
_OURS: Final = ("dataDir", "clientPort", "clientPortAddress")
"""Properties that are arguments of a server."""
_ENDINGS: Final = frozenset({signal.SIGTERM, signal.SIGINT})
_AWAITED: Final = _ENDINGS | {signal.SIGCHLD}
_EPILOG: Final = """\b
Examples:
  headrace zookeeper --data ./zookeeper --port 2181
  headrace zookeeper --servers 3"""


def zookeeper(
    data: Annotated[str | None, option("--data DIR", "The data folder.")] = None,
    host: Annotated[
        str | None, option("--host", "The address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, option("--port", "The client port; 0 takes a free one.", show_default="2181")
    ] = None,
    config: Annotated[
        str | None, option("--config FILE", "Read settings from a zookeeper.properties file.")
    ] = None,
    servers: Annotated[
        int, option("--servers", "Number of servers, on consecutive ports from --port.", min=1)
    ] = 1,
    heap_mb: Annotated[
        int, option("--heap-mb", "Heap size of each server.", min=16)
    ] = DEFAULT_HEAP_MB,
) -> int:
    """Run a ZooKeeper server, or an ensemble, until Ctrl-C.

    Prints a line with the address for zookeeper.connect when it serves requests.
    """
    properties = {} if config is None else read_properties(config)
    folder = data or properties.pop("dataDir", None)
    if servers > 1:
        return serve(_ensemble(properties, folder, servers, port=port, heap_mb=heap_mb))
    server = server_from(properties, folder=folder, host=host, port=port, heap_mb=heap_mb)
    server.start(READY_TIMEOUT_S)
    return serve([server])


def register(app: typer.Typer) -> None:
    app.command("zookeeper", epilog=_EPILOG)(zookeeper)


def server_from(
    properties: Mapping[str, str],
    *,
    folder: str | None = None,
    host: str | None = None,
    port: int | None = None,
    heap_mb: int = DEFAULT_HEAP_MB,
    ends_with_starter: bool = True,
) -> ZooKeeperServer:
    """A server as zookeeper.properties describe it; what is given beside them wins."""
    from headrace.coordination.zookeeper.server import ZooKeeperServer

    given = {key: value for key, value in properties.items() if key not in _OURS}
    return ZooKeeperServer(
        folder or default_folder(),
        client_port=_port_of(properties, port),
        host=host or properties.get("clientPortAddress", DEFAULT_HOST),
        heap_mb=heap_mb,
        properties=given,
        ends_with_starter=ends_with_starter,
    )


def default_folder() -> str:
    from headrace.cli.up import default_data

    return str(Path(default_data(os.environ), "zookeeper"))


def serve(servers: list[ZooKeeperServer]) -> int:
    """Say where they are, and keep them until a signal; they have been started before."""
    print(f"zookeeper ready on {','.join(each.connect_string for each in servers)}", flush=True)
    try:
        while True:
            # Blocked only while waiting: a server would inherit it and hear no SIGTERM.
            signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
            if all(each.running for each in servers) and signal.sigwait(_AWAITED) in _ENDINGS:
                return 0
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
            _mend(servers)
    finally:
        for each in reversed(servers):
            each.stop()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)


def _mend(servers: list[ZooKeeperServer]) -> None:
    for each in servers:
        if not each.running:
            if len(servers) == 1:
                raise Failure(f"ZooKeeper ended by itself; see {each.log_path}")
            each.stop()
            each.launch()
            print(
                f"headrace: the server at {each.connect_string} ended and was started again",
                file=sys.stderr,
                flush=True,
            )


def _ensemble(
    properties: Mapping[str, str], folder: str | None, size: int, *, port: int | None, heap_mb: int
) -> list[ZooKeeperServer]:
    from headrace.coordination.zookeeper.server import start_ensemble

    first = _port_of(properties, port)
    return start_ensemble(
        folder or default_folder(),
        size,
        heap_mb=heap_mb,
        properties={key: value for key, value in properties.items() if key not in _OURS},
        client_ports=tuple(range(first, first + size)) if first else (),
        timeout_s=READY_TIMEOUT_S,
        ends_with_starter=True,
    )


def _port_of(properties: Mapping[str, str], port: int | None) -> int:
    text = properties.get("clientPort", str(DEFAULT_PORT)) if port is None else str(port)
    if not (text.isascii() and text.isdecimal() and int(text) < 65536):
        raise WrongUsage(f'clientPort "{text}" is not a port', "give it a number from 0 to 65535")
    return int(text)
