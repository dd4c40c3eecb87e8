"""A PostgreSQL server for tests: the machine's own, or Debian's from the cache."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.debian import for_everybody, libraries, unpacked
from tests.servers.server import HOST, Server, folder_of, running, unprivileged

BIN = "usr/lib/postgresql/15/bin"
PACKAGES = (
    "postgresql-15",
    "libpq5",
    "libldap-2.5-0",
    "libsasl2-2",
    "libxml2",
    "libicu72",
    "libgssapi-krb5-2",
    "libkrb5-3",
    "libk5crypto3",
    "libkrb5support0",
    "libkeyutils1",
)
READY = "database system is ready to accept connections"
USER = "postgres"


def jdbc_url(server: Server) -> str:
    """The address of the server's first database."""
    return f"jdbc:postgresql://{HOST}:{server.port}/postgres"


@contextmanager
def postgres() -> Iterator[Server]:
    """A server with an empty database `postgres`, whose user `postgres` needs no password."""
    user = unprivileged()
    with folder_of(user) as folder:
        home, env = _home(folder)
        data = folder / "data"
        made = [home / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8"]
        subprocess.run(
            [*map(str, made), "--locale=C", "--no-sync", "--no-instructions"],
            env=env or None,
            user=user,
            extra_groups=None if user is None else [],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        settings = {
            "listen_addresses": HOST,
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "full_page_writes": "off",
            "shared_buffers": "16MB",
            "wal_level": "logical",
            "lc_messages": "C",
            "timezone": "America/New_York",  # nobody's own: what depends on it is seen
        }
        options = [word for name, text in settings.items() for word in ("-c", f"{name}={text}")]
        log = folder / "log"
        with running(
            lambda port: Server(
                port,
                [home / "postgres", "-D", data, "-p", str(port), *options],
                log,
                READY,
                env,
                user,
            )
        ) as server:
            yield server


def _home(folder: Path) -> tuple[Path, dict[str, str]]:
    installed = Path("/") / BIN
    if (installed / "postgres").exists():
        return installed, {}
    home = for_everybody(unpacked("postgresql-15", PACKAGES), folder / "home")
    return home / BIN, libraries(home)
