"""A MariaDB server for tests: the machine's own, or Debian's from the cache."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.debian import for_everybody, libraries, unpacked
from tests.servers.server import HOST, Server, folder_of, running, unprivileged

PACKAGES = ("mariadb-server-core", "libaio1", "libnuma1", "liburing2")
READY = "ready for connections"
DATABASE = "shop"
TABLES = ("mysql_system_tables.sql", "mysql_system_tables_data.sql")


def jdbc_url(server: Server, kind: str = "mariadb") -> str:
    """The address of the server's database."""
    return f"jdbc:{kind}://{HOST}:{server.port}/{DATABASE}"


@contextmanager
def mariadb() -> Iterator[Server]:
    """A server with an empty database `shop`, whose users need no password."""
    user = unprivileged()
    with folder_of(user) as folder:
        program, share, env = _home(folder)
        options = [
            "--no-defaults",
            f"--datadir={folder / 'data'}",
            f"--lc-messages-dir={share}",
            f"--tmpdir={folder}",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=16M",
            "--innodb-log-file-size=8M",
            "--default-time-zone=-05:00",  # nobody's own: what depends on it is seen
        ]
        (folder / "data").mkdir()
        if user is not None:
            shutil.chown(folder / "data", user)
        script = "CREATE DATABASE mysql;\nUSE mysql;\n"  # one statement on a line
        script += "\n".join((share / name).read_text() for name in TABLES)
        script += f"\nCREATE DATABASE {DATABASE} CHARACTER SET utf8mb4;\n"
        subprocess.run(
            [program, *options, "--bootstrap"],
            input=script.encode(),
            env=env or None,
            user=user,
            extra_groups=None if user is None else [],
            check=True,
            capture_output=True,
        )
        log = folder / "log"
        serving = ["--skip-grant-tables", f"--bind-address={HOST}", "--skip-name-resolve"]
        with running(
            lambda port: Server(
                port,
                [program, *options, *serving, f"--port={port}", f"--socket={folder / 'socket'}"],
                log,
                READY,
                env,
                user,
            )
        ) as server:
            yield server


def _home(folder: Path) -> tuple[Path, Path, dict[str, str]]:
    installed, share = Path("/usr/sbin/mariadbd"), Path("/usr/share/mysql")
    if installed.exists() and (share / TABLES[0]).exists():
        return installed, share, {}
    home = for_everybody(unpacked("mariadb-10.11", PACKAGES), folder / "home")
    return home / "usr/sbin/mariadbd", home / "usr/share/mysql", libraries(home)
