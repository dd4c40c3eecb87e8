"""A Redis server for tests: the machine's own, or Debian's from the cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.debian import for_everybody, libraries, unpacked
from tests.servers.server import HOST, Server, folder_of, running, unprivileged

PACKAGES = ("redis-server", "redis-tools", "libatomic1", "libjemalloc2", "liblzf1")
PROGRAM = "usr/bin/redis-server"
READY = "Ready to accept connections"


@contextmanager
def redis_server() -> Iterator[Server]:
    """An empty server that keeps everything it has acknowledged."""
    user = unprivileged()
    with folder_of(user) as folder:
        program, env = _home(folder)
        options = ["--bind", HOST, "--dir", str(folder), "--appendonly", "yes", "--save", ""]
        with running(
            lambda port: Server(
                port,
                [program, "--port", str(port), *options],
                folder / "log",
                READY,
                env,
                user,
            )
        ) as server:
            yield server


def _home(folder: Path) -> tuple[Path, dict[str, str]]:
    installed = Path("/") / PROGRAM
    if installed.exists():
        return installed, {}
    home = for_everybody(unpacked("redis-7.0", PACKAGES), folder / "home")
    return home / PROGRAM, libraries(home)
