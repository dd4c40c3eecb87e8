"""Real ZooKeeper servers as child processes: for `headrace zookeeper`, for clusters in tests.

A server has a folder with its configuration, data and log, and keeps its port: one that was killed
is started again where its clients look for it. The JVM is told to stay small, since a cluster on a
laptop has one of these beside every few brokers. This module refuses to know what is in the tree.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from headrace.coordination.zookeeper import config, jars
from headrace.errors import ConfigError, HeadraceError
from headrace.java.installation import find_java

STOP_TIMEOUT_S: Final = 10.0
MAX_REQUEST_BYTES: Final = 8 << 20
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
# Below the range that the kernel gives to outgoing connections: a client that knocks at the port of
# a dead server could otherwise be given that very port and talk to itself.
_PORTS: Final = range(15_000, 32_000)
_PORT_TRIES: Final = 200
_START_TRIES: Final = 3
_POLL_S: Final = 0.02
_PROBE_TIMEOUT_S: Final = 2.0
_PR_SET_PDEATHSIG: Final = 1
_CAUSES: Final = ("Caused by: ", "Error: ", "Error occurred", "Exception in thread")

# One compiler, one collector, small stacks: a server of a small cluster idles at about 60 MB.
_JVM: Final = (
    "-Xms8m",
    "-Xss512k",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:CICompilerCount=1",
    "-XX:ReservedCodeCacheSize=24m",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djava.awt.headless=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dzookeeper.nio.numSelectorThreads=1",
    "-Dzookeeper.nio.numWorkerThreads=2",
    f"-Djute.maxbuffer={MAX_REQUEST_BYTES}",
)


class ServerFailed(HeadraceError):
    """A server did not start; the text has its last words."""


class PortTaken(ServerFailed):
    """Somebody else listens on the port."""


def class_path() -> str:
    """PySpark's jars or the system's; ConfigError with a remedy if there are none."""
    return jars.class_path(os.environ)


class ZooKeeperServer:
    """One server. It outlives nobody's `with` block, and `start` after `stop` finds its data."""

    def __init__(
        self,
        folder: Path | str,
        *,
        client_port: int = 0,
        host: str = "127.0.0.1",
        heap_mb: int = 64,
        properties: Mapping[str, str] = _NONE,
        my_id: int = 0,
        ends_with_starter: bool = False,
    ) -> None:
        """`client_port` 0 takes a free one at the first start, and keeps it.

        `ends_with_starter`: the kernel stops the server when the thread that started it is gone,
        so a process must ask for it from its main thread.
        """
        self.folder = Path(folder).resolve()
        self.host = host
        self.heap_mb = heap_mb
        self.properties = dict(properties)
        self.my_id = my_id
        self._port = client_port
        self._ends_with_starter = ends_with_starter
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def port(self) -> int:
        if not self._port:
            raise ServerFailed("the port is not known before the server is started")
        return self._port

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerFailed("the server is not running")
        return self._process.pid

    @property
    def connect_string(self) -> str:
        """What clients have as zookeeper.connect."""
        return f"{self.host}:{self.port}"

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log_path(self) -> Path:
        return self.folder / config.LOG_FILE

    def start(self, timeout_s: float = 30) -> None:
        """Start the server and wait until it serves requests."""
        for tries_left in reversed(range(1 if self._port else _START_TRIES)):
            try:
                self.launch()
                self.await_ready(timeout_s)
                return
            except PortTaken:
                # Somebody was faster between our look and the server's.
                if not tries_left:
                    raise
                self._port = 0

    def launch(self) -> None:
        """Start the process and return at once."""
        if self.running:
            return
        chosen = self._port or free_port(self.host)
        if self._port and not _is_free(self.host, self._port):
            raise PortTaken(
                f"{self.host}:{self._port} is taken: stop who listens there, or choose another port"
            )
        self._port = chosen
        properties = config.complete(self.folder, self.properties, host=self.host, port=chosen)
        path = config.write(self.folder, properties, self.my_id)
        with (self.folder / config.OUTPUT_FILE).open("ab") as output:
            self._process = subprocess.Popen(
                self._command(path),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Arenas of glibc cost a JVM with thirty threads megabytes that it never uses.
                env={**os.environ, "MALLOC_ARENA_MAX": "1"},
                start_new_session=True,
                preexec_fn=_end_with_parent() if self._ends_with_starter else None,
            )

    def await_ready(self, timeout_s: float) -> None:
        """Return when the server answers requests, alone or as a member of a quorum."""
        deadline = time.monotonic() + timeout_s
        while "Mode: " not in self.probe():
            if not self.running:
                self._process = None
                raise self._failure("ended while it was starting")
            if time.monotonic() > deadline:
                self.kill()
                raise self._failure(f"did not serve requests within {timeout_s:g} s")
            time.sleep(_POLL_S)

    def probe(self, word: str = "srvr") -> str:
        """The answer to one of ZooKeeper's four-letter words; empty if there is none."""
        try:
            with socket.create_connection((self.host, self.port), _PROBE_TIMEOUT_S) as connection:
                connection.sendall(word.encode("ascii"))
                answer = b""
                while piece := connection.recv(65536):
                    answer += piece
        except OSError:
            return ""
        return answer.decode(errors="replace")

    def stop(self) -> None:
        """End the server in good order; harmless if it does not run."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End the server as a crash would."""
        self._end(signal.SIGKILL)

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait until the server has ended; its exit code."""
        return 0 if self._process is None else self._process.wait(timeout_s)

    def __enter__(self) -> Self:
        if not self.running:
            self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def _command(self, config_path: Path) -> list[str]:
        return [
            str(find_java(os.environ) / "bin" / "java"),
            f"-Xmx{self.heap_mb}m",
            *_JVM,
            f"-Dlog4j2.configurationFile={self.folder / config.LOGGING_FILE}",
            f"-Dheadrace.zookeeper.log={self.log_path}",
            "-cp",
            class_path(),
            jars.MAIN_CLASS,
            str(config_path),
        ]

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _failure(self, what: str) -> ServerFailed:
        words = [
            line
            for name in (config.OUTPUT_FILE, config.LOG_FILE)
            for line in _last_lines(self.folder / name)
        ]
        if any("BindException" in line for line in words):
            return PortTaken(f"the port {self._port} was taken; see {self.log_path}")
        causes = [line for line in words if line.startswith(_CAUSES)]
        return ServerFailed(
            f"ZooKeeper {what}: {causes[-1] if causes else ''}; see {self.log_path}"
        )


def start_ensemble(
    folder: Path | str,
    size: int,
    *,
    heap_mb: int = 64,
    properties: Mapping[str, str] = _NONE,
    client_ports: tuple[int, ...] = (),
    timeout_s: float = 60,
    ends_with_starter: bool = False,
) -> list[ZooKeeperServer]:
    """Start servers that vote with each other; they serve while more than half of them live."""
    if size < 1:
        raise ConfigError(f"an ensemble has at least one server, not {size}")
    for attempt in range(_START_TRIES):
        members = dict(properties)
        for member in range(1, size + 1):
            quorum, election = free_port("127.0.0.1"), free_port("127.0.0.1")
            members[f"server.{member}"] = f"127.0.0.1:{quorum}:{election}"
        servers = [
            ZooKeeperServer(
                Path(folder) / f"zookeeper-{member}",
                client_port=client_ports[member - 1] if client_ports else 0,
                heap_mb=heap_mb,
                properties=members if size > 1 else properties,
                my_id=member,
                ends_with_starter=ends_with_starter,
            )
            for member in range(1, size + 1)
        ]
        try:
            for server in servers:
                server.launch()
            for server in servers:
                server.await_ready(timeout_s)
            return servers
        except BaseException as error:
            for server in servers:
                server.kill()
            if not isinstance(error, PortTaken) or client_ports or attempt == _START_TRIES - 1:
                raise
    raise AssertionError("the loop returns or raises")


def free_port(host: str) -> int:
    """A port that nobody listens on just now."""
    for port in random.sample(_PORTS, _PORT_TRIES):
        if _is_free(host, port):
            return port
    raise PortTaken(f"no free port was found on {host} between {_PORTS.start} and {_PORTS.stop}")


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as probe:
        # As the server does: connections of its former life may linger.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _last_lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[-60:]
    except OSError:
        return []


def _end_with_parent() -> Callable[[], None]:
    # Looked up before the fork: the child must not load a library.
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)

    return ask
