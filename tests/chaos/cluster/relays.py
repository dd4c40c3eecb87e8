"""Loopback addresses with a relay before every port: a network that may fail without root.

Everyone reaches a node through its relay. The relay finds out who calls (the owner of the calling
socket, by /proc) and lets bytes wait while their direction is cut, as TCP's retransmissions would
make them wait; after healing they go on. A slow node's bytes are delayed.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from headrace.coordination.zookeeper.server import free_port
from tests.chaos.cluster.network import CLIENTS, Door

CHUNK = 1 << 16
SLOW_SECONDS = 0.15
CUT_POLL_SECONDS = 0.02
CALL_TIMEOUT_SECONDS = 10


class RelayNetwork:
    """Relays on an event loop in a thread of their own."""

    name = "relays"

    def __init__(self) -> None:
        self._pids: dict[int, str] = {}
        self._cuts: frozenset[tuple[str, str]] = frozenset()
        self._slow: frozenset[str] = frozenset()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def join(self, node: str, ports: int) -> list[Door]:
        return [self._open(node) for _ in range(ports)]

    def command(self, node: str, command: Sequence[str]) -> list[str]:
        return list(command)

    def settle(self, node: str, pid: int) -> None:
        self._pids = {known: name for known, name in self._pids.items() if name != node}
        self._pids[pid] = node

    def cut(self, source: str, target: str) -> None:
        self._cuts |= {(source, target)}

    def slow(self, node: str) -> None:
        self._slow |= {node}

    def heal(self) -> None:
        self._cuts = frozenset()
        self._slow = frozenset()

    def close(self) -> None:
        async def end() -> None:
            for server in self._servers:
                server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(CALL_TIMEOUT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CALL_TIMEOUT_SECONDS)
        self._loop.close()

    def _open(self, node: str) -> Door:
        # Not a port of outgoing connections: a relay that knocks at a dead node could be given
        # that very port, and would then talk to itself.
        listen = free_port("127.0.0.1")

        async def serve() -> int:
            server = await asyncio.start_server(relay, "127.0.0.1", 0, limit=CHUNK)
            self._servers.append(server)
            return int(server.sockets[0].getsockname()[1])

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await self._connect(node, listen, reader, writer)
            except (OSError, asyncio.CancelledError):
                pass  # the other side is gone, or the network is closed
            finally:
                self._tasks.discard(task)
                writer.close()

        serving = asyncio.run_coroutine_threadsafe(serve(), self._loop)
        reach = serving.result(CALL_TIMEOUT_SECONDS)
        return Door(f"127.0.0.1:{listen}", f"127.0.0.1:{reach}")

    async def _connect(
        self, node: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        caller = self._owner(writer.get_extra_info("peername")[1])
        await self._passable(caller, node)
        await self._passable(node, caller)
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", port, limit=CHUNK)
        try:
            ways = (
                self._pump(caller, node, reader, there_writer),
                self._pump(node, caller, there_reader, writer),
            )
            tasks = [asyncio.ensure_future(way) for way in ways]
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
            await asyncio.gather(*done, *pending, return_exceptions=True)
        finally:
            there_writer.close()

    async def _pump(
        self, source: str, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(CHUNK):
            await self._passable(source, target)
            if source in self._slow:
                await asyncio.sleep(SLOW_SECONDS)
            writer.write(data)
            await writer.drain()
        await self._passable(source, target)  # an end of the stream is news as well

    async def _passable(self, source: str, target: str) -> None:
        # The cuts are changed by the nemesis' thread: an event of this loop would not know.
        while (source, target) in self._cuts:  # noqa: ASYNC110
            await asyncio.sleep(CUT_POLL_SECONDS)

    def _owner(self, port: int) -> str:
        """The node whose process holds the loopback socket with this local port."""
        inode = _inode_of(port)
        for pid, node in self._pids.items():
            if inode is not None and inode in _inodes(pid):
                return node
        return CLIENTS


def _inode_of(port: int) -> str | None:
    wanted = f":{port:04X}"
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    lines = itertools.chain.from_iterable(table.read_text().splitlines() for table in tables)
    for line in lines:
        fields = line.split()
        if fields[1].endswith(wanted) and fields[9] != "0":
            return fields[9]
    return None


def _inodes(pid: int) -> set[str]:
    def sockets() -> Iterator[str]:
        folder = Path(f"/proc/{pid}/fd")
        for name in os.listdir(folder):
            try:
                target = os.readlink(folder / name)
            except FileNotFoundError:  # closed meanwhile
                continue
            if target.startswith("socket:["):
                yield target[8:-1]

    try:
        return set(sockets())
    except FileNotFoundError:  # the process has ended
        return set()
