"""An MQTT server for tests, mosquitto: the machine's own, or Debian's from the cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.debian import for_everybody, libraries, unpacked
from tests.servers.server import HOST, Server, folder_of, running, unprivileged

PACKAGES = ("mosquitto", "libmosquitto1", "libcjson1", "libdlt2", "libwrap0")
PROGRAM = "usr/sbin/mosquitto"
READY = "running"


def url(server: Server) -> str:
    """The address of the server."""
    return f"tcp://{HOST}:{server.port}"


@contextmanager
def mosquitto(*lines: str) -> Iterator[Server]:
    """A server whose clients need no password, unless `lines` of its settings say otherwise.

    What it holds for clients that are away survives its end.
    """
    user = unprivileged()
    with folder_of(user) as folder:
        program, env = _home(folder)
        settings = folder / "mosquitto.conf"

        def made(port: int) -> Server:
            said = [f"listener {port} {HOST}", f"user {user}" if user else "", *lines]
            if not any("allow_anonymous" in line for line in lines):
                said.append("allow_anonymous true")
            stored = ["persistence true", f"persistence_location {folder}/", "autosave_interval 1"]
            settings.write_text("\n".join([*said, *stored, "max_queued_messages 0", ""]))
            command: list[str | Path] = [program, "-c", settings, "-v"]
            return Server(port, command, folder / "log", READY, env, user)

        with running(made) as server:
            yield server


def _home(folder: Path) -> tuple[Path, dict[str, str]]:
    installed = Path("/") / PROGRAM
    if installed.exists():
        return installed, {}
    home = for_everybody(unpacked("mosquitto-2.0", PACKAGES), folder / "home")
    return home / PROGRAM, libraries(home)
