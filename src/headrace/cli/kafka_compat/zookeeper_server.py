"""`zookeeper-server-start` and `zookeeper-server-stop`, with the files and words of Kafka's.

    zookeeper-server-start [-daemon] zookeeper.properties [--override key=value]*
    zookeeper-server-stop [zookeeper.properties]

Stop without a file ends every ZooKeeper of this user on this machine, as Kafka's script does; with
a file only the server whose dataDir it names.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import FAILED, Failure, WrongUsage
from headrace.cli.small_files import read_properties

if TYPE_CHECKING:
    from headrace.coordination.zookeeper.server import ZooKeeperServer

START_USAGE: Final = (
    "USAGE: zookeeper-server-start [-daemon] zookeeper.properties [--override property=value]*\n\n"
    "Example: zookeeper-server-start config/zookeeper.properties"
)
STOP_USAGE: Final = (
    "USAGE: zookeeper-server-stop [zookeeper.properties]\n\n"
    "Example: zookeeper-server-stop config/zookeeper.properties"
)
DEFAULT_DATA_DIR: Final = "/tmp/zookeeper"
_STOP_TIMEOUT_S: Final = 30.0
_TOLD: Final = ("QuorumPeerConfig)", "QuorumPeerMain)", "DatadirCleanupManager)")


def start(words: list[str]) -> int:
    if "--help" in words:
        print(START_USAGE)
        return 0
    from headrace.cli.zookeeper import READY_TIMEOUT_S, serve

    daemon = words[:1] == ["-daemon"]
    server = _server(words[1:] if daemon else words, daemon)
    server.start(READY_TIMEOUT_S)
    if daemon:
        return 0
    _show_log(server.log_path)
    return serve([server])


def stop(words: list[str], processes: Path = Path("/proc")) -> int:
    if "--help" in words:
        print(STOP_USAGE)
        return 0
    if len(words) > 1:
        raise WrongUsage("more than one file is given", STOP_USAGE)
    _refuse_flag(words, STOP_USAGE)
    config = _config_of(words[0]) if words else None
    found = list(_servers(processes, config))
    if not found:
        print("No zookeeper server to stop", file=sys.stderr)
        return FAILED
    for pid in found:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while left := [pid for pid in found if pid in set(_servers(processes, config))]:
        if time.monotonic() > deadline:
            raise Failure(f"process {left[0]} did not stop within {_STOP_TIMEOUT_S:g} s")
        time.sleep(0.05)
    return 0


def _refuse_flag(words: list[str], usage: str) -> None:
    """A flag that is none is not taken for the name of a file."""
    if words and words[0].startswith("-") and words[0] != "--override":
        raise WrongUsage(f'"{words[0]}" is not a flag of this command', usage)


def _server(words: list[str], daemon: bool) -> ZooKeeperServer:
    from headrace.cli.zookeeper import server_from

    _refuse_flag(words, START_USAGE)
    if not words or words[0].startswith("-"):
        raise WrongUsage("no zookeeper.properties is given", START_USAGE)
    properties = read_properties(words[0])
    rest = list(words[1:])
    while rest:
        flag = rest.pop(0)
        key, equals, value = (rest.pop(0) if rest else "").partition("=")
        if flag != "--override" or not equals:
            raise WrongUsage(f'"{flag}" is not understood here', "write --override key=value")
        properties[key.strip()] = value.strip()
    properties.setdefault("dataDir", DEFAULT_DATA_DIR)
    return server_from(properties, folder=properties["dataDir"], ends_with_starter=not daemon)


def _show_log(path: Path) -> None:
    """What ZooKeeper says of its configuration goes to stderr, as it comes."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return  # other jars than PySpark's may log elsewhere
    for line in lines:
        if line.endswith(_TOLD):
            print(line, file=sys.stderr)
    sys.stderr.flush()


def _config_of(path: str) -> str:
    from headrace.coordination.zookeeper.config import CONFIG_FILE

    data = read_properties(path).get("dataDir", DEFAULT_DATA_DIR)
    return str(Path(data).resolve() / CONFIG_FILE)


def _servers(processes: Path, config: str | None) -> Iterator[int]:
    """Processes of this user that are ZooKeeper servers."""
    from headrace.coordination.zookeeper.jars import MAIN_CLASS

    for folder in processes.glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            is_mine = folder.stat().st_uid == os.getuid()
        except OSError:
            continue  # it has just ended
        if is_mine and MAIN_CLASS in words and (config is None or config in words):
            yield int(folder.name)
