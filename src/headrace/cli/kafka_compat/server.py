"""`kafka-server-start` and `kafka-server-stop`, with the files and words of Kafka's.

    kafka-server-start [-daemon] server.properties [--override property=value]*
    kafka-server-stop [--process-role=broker] [--node-id=1] [server.properties]

Of the environment that Kafka's script honours, these have a meaning here: LOG_DIR (the output of a
daemon, and the log files), and in KAFKA_OPTS the agent that serves metrics to Prometheus and
`-Dkafka.logs.dir`. What concerns a virtual machine (KAFKA_HEAP_OPTS, -X…) is accepted and has no
effect. Stop finds brokers by their records (see `headrace.cli.processes`), never by a pattern, and
sends SIGTERM, or what SIGNAL says.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from headrace.cli.failures import FAILED, WrongUsage
from headrace.cli.kafka_compat.flags import flags, no_flag, parse
from headrace.cli.small_files import read_properties

START_USAGE: Final = (
    "USAGE: kafka-server-start [-daemon] server.properties [--override property=value]*"
)
STOP_USAGE: Final = (
    "USAGE: kafka-server-stop [--process-role=ROLE] [--node-id=ID] [server.properties]"
)
_START_FLAGS: Final = flags("--override=K=V")
DAEMON_OUTPUT: Final = "kafkaServer.out"
_READY: Final = re.compile(r"^broker ready on ", re.MULTILINE)
_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 60.0
_PAUSE_S: Final = 0.05
_AGENT: Final = re.compile(
    r"-javaagent:[^=]*jmx_prometheus[^=]*=(?:(?P<host>[^:]*):)?(?P<port>\d+):"
)
_LOG_DIR_PROPERTY: Final = "-Dkafka.logs.dir="
_OF_THE_MACHINE: Final = (
    *("-X", "-server", "-verbose", "-ea", "-agentlib"),
    *("-Djava.awt.", "-Dcom.sun.management.", "-Dlog4j"),
)


class Start(NamedTuple):
    """One broker to start."""

    settings: Mapping[str, str]
    log_dir: str | None


def start(words: list[str]) -> int:
    if "--help" in words:
        print(START_USAGE)
        return 0
    daemon = "-daemon" in words
    given = [word for word in words if word != "-daemon"]
    if not given:
        print(START_USAGE)
        return FAILED
    try:
        wanted = _wanted(given, os.environ)
    except WrongUsage as error:
        print(error, file=sys.stderr)
        return FAILED
    if daemon:
        return _start_daemon(given, wanted)
    from headrace.cli import up

    if wanted.log_dir:
        os.environ["LOG_DIR"] = wanted.log_dir
    return up.run_broker(up.Request(log_level="info"), wanted.settings)


def _wanted(words: list[str], environment: Mapping[str, str]) -> Start:
    from headrace.cluster.broker_config import BrokerConfig

    file, *rest = words
    if file in _START_FLAGS:
        raise WrongUsage("no server.properties is given", START_USAGE)
    if file.startswith("-") and not Path(file).exists():
        raise WrongUsage(no_flag(file, ("-daemon", *_START_FLAGS)).cause, START_USAGE)
    settings = read_properties(file)
    overrides = parse(rest, _START_FLAGS).properties("--override")
    options, log_dir = _machine_options(shlex.split(environment.get("KAFKA_OPTS", "")))
    settings = {**options, **settings, **overrides}
    BrokerConfig(settings)  # a mistake is told before anything is started
    return Start(settings, log_dir or environment.get("LOG_DIR"))


def _machine_options(words: list[str]) -> tuple[dict[str, str], str | None]:
    """What the options of a virtual machine ask of this one: settings, and where logs go."""
    settings: dict[str, str] = {}
    log_dir = None
    for word in words:
        if agent := _AGENT.match(word):
            settings["metrics.listener"] = f"{agent['host'] or '0.0.0.0'}:{agent['port']}"
        elif word.startswith(_LOG_DIR_PROPERTY):
            log_dir = word.removeprefix(_LOG_DIR_PROPERTY)
        elif not word.startswith(_OF_THE_MACHINE):
            print(f"headrace: KAFKA_OPTS {word} has no meaning here", file=sys.stderr)
    return settings, log_dir


def _start_daemon(words: list[str], wanted: Start) -> int:
    """Start again, detached; returns once the broker answers or has ended."""
    folder = Path(wanted.log_dir or _default_log_dir())
    folder.mkdir(parents=True, exist_ok=True)
    output = folder / DAEMON_OUTPUT
    tool = [sys.executable, "-m", "headrace.cli.kafka_compat", "kafka-server-start"]
    with output.open("ab") as file:
        begin = file.tell()
        process = subprocess.Popen(
            [*tool, *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env={**os.environ, "LOG_DIR": str(folder)},
        )
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline:
        said = output.read_bytes()[begin:].decode(errors="replace")
        if _READY.search(said):
            return 0
        if process.poll() is not None:
            print(said.rstrip(), file=sys.stderr)
            return FAILED
        time.sleep(_PAUSE_S)
    print(f"headrace: the broker still starts; see {output}", file=sys.stderr)
    return 0


def _default_log_dir() -> str:
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "headrace", "logs")


def stop(words: list[str]) -> int:
    from headrace.cli.processes import began

    if "--help" in words:
        print(STOP_USAGE)
        return 0
    try:
        found = _to_stop(words)
        number = _signal(os.environ.get("SIGNAL", "TERM"))
    except WrongUsage as error:
        print(error, file=sys.stderr)
        return FAILED
    if not found:
        print("No kafka server to stop")
        return FAILED
    for pid in found:
        os.kill(pid, number)
    deadline = time.monotonic() + _STOP_TIMEOUT_S
    while left := [pid for pid, start_ticks in found.items() if began(pid) == start_ticks]:
        if time.monotonic() > deadline:
            print(f"headrace: process {left[0]} is still shutting down", file=sys.stderr)
            break
        time.sleep(_PAUSE_S)
    return 0


def _to_stop(words: list[str]) -> dict[int, int]:
    """The processes that the words mean, and when each began."""
    from headrace.cli.processes import began, node_id_of, running

    files = [word for word in words if not word.startswith("-") and Path(word).exists()]
    given = parse(
        [word for word in words if word not in files],
        flags("--process-role= --node-id="),
    )
    role, node_id = given.text("--process-role"), given.number("--node-id")
    folders = [_log_dirs(file) for file in files]
    found = {}
    for process in running():
        if role is not None and role not in process.roles:
            continue
        if node_id is not None and node_id != node_id_of(process):
            continue
        if folders and process.log_dirs not in folders:
            continue
        # A supervisor would start its broker again, unless one broker alone is to be stopped.
        alone = node_id is not None or folders
        pid = process.pid if alone or not process.supervisor else process.supervisor
        found[pid] = began(pid) or 0
    return found


def _log_dirs(file: str) -> list[str]:
    from headrace.cluster.broker_config import BrokerConfig

    config = BrokerConfig(read_properties(file))
    return [os.path.abspath(each) for each in config.log_dirs]


def _signal(name: str) -> signal.Signals:
    try:
        return signal.Signals[f"SIG{name.removeprefix('SIG')}"]
    except KeyError:
        raise WrongUsage(f'SIGNAL "{name}" is not a signal', "use TERM, INT or KILL") from None
