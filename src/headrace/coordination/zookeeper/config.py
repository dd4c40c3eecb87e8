"""The files that a ZooKeeper server is started with: zoo.cfg, myid, and where it logs.

Whatever the caller sets wins. What is added is what lets a server run beside others on one host:
its own address only, no second port for an admin page, any number of brokers on one address.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

CONFIG_FILE: Final = "zoo.cfg"
LOG_FILE: Final = "zookeeper.log"
OUTPUT_FILE: Final = "zookeeper.out"
LOGGING_FILE: Final = "log4j2.properties"
_PROBE: Final = "srvr"
_WHITELIST: Final = "4lw.commands.whitelist"

DEFAULTS: Final[Mapping[str, str]] = {
    # Sessions end on a tick: with ZooKeeper's usual two seconds a dead broker is missed later than
    # its session time-out says. The limits below count ticks and stay what they usually are.
    "tickTime": "500",
    "initLimit": "40",
    "syncLimit": "20",
    "maxSessionTimeout": "60000",
    "maxClientCnxns": "0",
    "admin.enableServer": "false",
    # ZooKeeper would keep every snapshot and log it ever wrote.
    "autopurge.snapRetainCount": "3",
    "autopurge.purgeInterval": "24",
}

_LOGGING: Final = """\
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:headrace.zookeeper.log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
# A process that waits for the server asks it many times a second.
logger.probes.name = org.apache.zookeeper.server.NIOServerCnxn
logger.probes.level = warn
logger.environment.name = org.apache.zookeeper.Environment
logger.environment.level = warn
"""


def complete(folder: Path, given: Mapping[str, str], *, host: str, port: int) -> dict[str, str]:
    """The properties of zoo.cfg. `port` wins over a clientPort that was given."""
    properties = {
        "dataDir": str(folder),
        **DEFAULTS,
        "clientPortAddress": host,
        **given,
        "clientPort": str(port),
    }
    allowed = [word.strip() for word in properties.get(_WHITELIST, _PROBE).split(",")]
    if _PROBE not in allowed and "*" not in allowed:
        allowed.append(_PROBE)
    properties[_WHITELIST] = ",".join(allowed)
    return properties


def write(folder: Path, properties: Mapping[str, str], my_id: int) -> Path:
    """Write everything the server reads; returns the path of zoo.cfg."""
    data = Path(properties["dataDir"])
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if my_id:
        (data / "myid").write_text(f"{my_id}\n", encoding="ascii")
    (folder / LOGGING_FILE).write_text(_LOGGING, encoding="ascii")
    path = folder / CONFIG_FILE
    lines = [f"{_escaped(key)}={_escaped(value)}\n" for key, value in properties.items()]
    path.write_text("".join(lines), encoding="ascii")
    return path


def _escaped(text: str) -> str:
    """Java reads properties as Latin-1 with escapes; anything unusual becomes UTF-16 escapes."""
    pieces = []
    for character in text:
        if " " < character <= "~" and character not in "\\":
            pieces.append(character)
        else:
            units = character.encode("utf-16-be", errors="surrogatepass").hex()
            pieces += [f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)]
    return "".join(pieces)
