"""Which brokers of this user run on this machine: a small file for each, as long as it runs.

    $HEADRACE_RUN, else $XDG_RUNTIME_DIR/headrace, else /tmp/headrace-UID
        1234.json   {"pid": 1234, "began": 77345, "supervisor": 0, "node_id": 1, …}

`kafka-server-stop` must never end a process by what its command line looks like. It finds brokers
here, and believes a file only while the process of that number began when the file says. An empty
$HEADRACE_RUN means that no file is written: brokers of tests belong to their test.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.cluster.broker_config import BrokerConfig

FOLDER_VARIABLE: Final = "HEADRACE_RUN"
_BEGAN: Final = 22 - 3
"""The start of a process is field 22 of /proc/PID/stat; the third is the first behind its name."""


class BrokerProcess(NamedTuple):
    """One broker that runs."""

    pid: int
    began: int
    supervisor: int
    node_id: int
    roles: list[str]
    log_dirs: list[str]


def folder() -> Path | None:
    """Where the files are; None where none are wanted."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_RUNTIME_DIR")
    return Path(base) / "headrace" if base else Path(f"/tmp/headrace-{os.getuid()}")


@contextlib.contextmanager
def recorded(config: BrokerConfig) -> Iterator[None]:
    """The broker of this process can be found as long as the block runs."""
    place = folder()
    path = None if place is None else place / f"{os.getpid()}.json"
    if place is not None and path is not None:
        # Whatever cannot be written must not keep a broker from running.
        with contextlib.suppress(OSError):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_ours(place):
                path.write_text(json.dumps(_this(config)._asdict()), encoding="utf-8")
    try:
        yield
    finally:
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()


def _this(config: BrokerConfig) -> BrokerProcess:
    pid, parent = os.getpid(), os.getppid()
    # A supervised broker is a fork of its supervisor, and so has the same command line.
    supervised = _command(pid) == _command(parent)
    return BrokerProcess(
        pid=pid,
        began=began(pid) or 0,
        supervisor=parent if supervised else 0,
        node_id=config.broker_id,
        roles=list(config.get("process.roles") or ("broker", "controller")),
        log_dirs=[os.path.abspath(each) for each in config.log_dirs],
    )


def running() -> list[BrokerProcess]:
    """The brokers that run; files of those that were killed are removed."""
    place = folder()
    found: list[BrokerProcess] = []
    if place is None or not _is_ours(place):
        return found
    for path in sorted(place.glob("*.json")):
        try:
            process = BrokerProcess(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            continue  # it is being written, or ends just now
        if began(process.pid) == process.began:
            found.append(process)
        else:
            with contextlib.suppress(OSError):
                path.unlink()
    return found


def node_id_of(process: BrokerProcess) -> int:
    """The broker's number: configured, or what was written into its folder when it began."""
    from headrace.log import meta_properties

    if process.node_id >= 0:
        return process.node_id
    for log_dir in process.log_dirs:
        path = Path(log_dir) / meta_properties.FILE_NAME
        with contextlib.suppress(OSError, HeadraceError):
            node_id = meta_properties.decode(path.read_bytes(), str(path)).node_id
            if node_id is not None:
                return node_id
    return -1


def began(pid: int) -> int | None:
    """When a process began, in ticks since the machine did; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name, in brackets, may hold anything.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[_BEGAN])


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _is_ours(place: Path) -> bool:
    """Somebody else could have made a folder of this name first."""
    try:
        seen = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(seen.st_mode) and seen.st_uid == os.getuid()
