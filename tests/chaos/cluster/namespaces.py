"""A network namespace per node, all on one bridge; the clients live outside, on the bridge itself.

A cut is a permanent neighbour entry with a hardware address that nobody has: packets leave and
arrive nowhere, as on a cut cable, so a sender notices by time-out only. A slow link is netem where
the kernel has it, else a token bucket of a few packets a second. Wants root and `ip`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from tests.chaos.cluster.network import CLIENTS, Door

NOBODY = "02:00:00:00:00:99"
FIRST_PORT = 9092
FIRST_HOST = 10
DEVICE = "eth0"  # of a node, inside its namespace
NETEM = ("netem", "delay", "150ms", "100ms")
BUCKET = ("tbf", "rate", "128kbit", "burst", "8kb", "latency", "800ms")
COMMAND_TIMEOUT_SECONDS = 10


def namespaces_are_permitted() -> bool:
    """Whether this process may make namespaces, links and bridges."""
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("tc") is None:
        return False
    network = NamespaceNetwork()
    try:
        network.join("probe", 1)
    except (subprocess.SubprocessError, OSError):
        return False
    finally:
        network.close()
    return True


class NamespaceNetwork:
    """One bridge, one subnet, one namespace per node; names carry this process's id."""

    name = "namespaces"

    def __init__(self) -> None:
        self._mark = f"hr{os.getpid() % 100_000}"
        self._subnet = f"10.231.{os.getpid() % 250}"
        self._hosts: dict[str, int] = {}
        self._cuts: set[tuple[str, str]] = set()
        self._slow: set[str] = set()
        self._is_up = False

    def join(self, node: str, ports: int) -> list[Door]:
        if not self._is_up:
            self._build_bridge()
        number = FIRST_HOST + len(self._hosts)
        self._hosts[node] = number
        space, link = self._space(node), self._link(number)
        _run("ip", "netns", "add", space)
        _run(
            *("ip", "link", "add", link, "type", "veth"),
            *("peer", "name", DEVICE, "netns", space),
        )
        _run("ip", "link", "set", link, "master", self._bridge, "up")
        _run("ip", "-n", space, "addr", "add", f"{self.address(node)}/24", "dev", DEVICE)
        for device in ("lo", DEVICE):
            _run("ip", "-n", space, "link", "set", device, "up")
        doors = [f"{self.address(node)}:{FIRST_PORT + port}" for port in range(ports)]
        return [Door(door, door) for door in doors]

    def command(self, node: str, command: Sequence[str]) -> list[str]:
        return ["ip", "netns", "exec", self._space(node), *command]

    def settle(self, node: str, pid: int) -> None:
        """Nothing to know: the namespace is the place."""

    def address(self, node: str) -> str:
        return f"{self._subnet}.{1 if node == CLIENTS else self._hosts[node]}"

    def cut(self, source: str, target: str) -> None:
        where = ("lladdr", NOBODY, "nud", "permanent")
        self._neighbour("replace", source, target, *where)
        self._cuts.add((source, target))

    def slow(self, node: str) -> None:
        begin = ("tc", "-n", self._space(node), "qdisc", "replace", "dev", DEVICE, "root")
        if not _succeeds(*begin, *NETEM):
            _run(*begin, *BUCKET)
        self._slow.add(node)

    def heal(self) -> None:
        for source, target in self._cuts:
            self._neighbour("del", source, target)
        self._cuts.clear()
        for node in self._slow:
            _run("tc", "-n", self._space(node), "qdisc", "del", "dev", DEVICE, "root")
        self._slow.clear()

    def close(self) -> None:
        for node, number in self._hosts.items():
            # The kernel takes its time over a namespace; its link must be gone at once.
            _succeeds("ip", "link", "del", self._link(number))
            _succeeds("ip", "netns", "del", self._space(node))
        self._hosts.clear()
        if self._is_up:
            _succeeds("ip", "link", "del", self._bridge)
            self._is_up = False

    @property
    def _bridge(self) -> str:
        return f"{self._mark}br"

    def _link(self, number: int) -> str:
        return f"{self._mark}v{number}"

    def _space(self, node: str) -> str:
        return f"{self._mark}-{node}"

    def _build_bridge(self) -> None:
        _run("ip", "link", "add", self._bridge, "type", "bridge", "forward_delay", "0")
        self._is_up = True
        _run("ip", "addr", "add", f"{self.address(CLIENTS)}/24", "dev", self._bridge)
        _run("ip", "link", "set", self._bridge, "up")

    def _neighbour(self, verb: str, source: str, target: str, *rest: str) -> None:
        inside = () if source == CLIENTS else ("-n", self._space(source))
        device = self._bridge if source == CLIENTS else DEVICE
        _run("ip", *inside, "neigh", verb, self.address(target), *rest, "dev", device)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=COMMAND_TIMEOUT_SECONDS)


def _succeeds(*command: str) -> bool:
    done = subprocess.run(command, capture_output=True, timeout=COMMAND_TIMEOUT_SECONDS)
    return done.returncode == 0
