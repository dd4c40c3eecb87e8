"""`zookeeper-shell HOST:PORT [command …]`: look into the tree as operators of Kafka do.

    zookeeper-shell localhost:2181 ls /brokers/ids

prints `[0, 1, 2]` below the lines with which the original greets. Without a command it reads them
from standard input, with a prompt if a person types.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import FAILED, Failure, WrongUsage
from headrace.cli.kafka_compat.zookeeper_commands import COMMANDS, parse, refusal, usage
from headrace.errors import ConfigError

if TYPE_CHECKING:
    from kazoo.client import KazooClient

USAGE: Final = (
    "USAGE: zookeeper-shell zookeeper_host:port[/path] [args...]\n\n"
    "Example: zookeeper-shell localhost:2181 ls /brokers/ids"
)
COMMAND_NOT_FOUND: Final = 127
_CONNECT_TIMEOUT_S: Final = 15.0
_SESSION_TIMEOUT_S: Final = 30.0
_ENDINGS: Final = ("quit", "close")


def zookeeper_shell(words: list[str]) -> int:
    if words[:1] == ["--help"]:
        print(USAGE)
        return 0
    if not words:
        raise WrongUsage("no server is given", "write zookeeper-shell HOST:PORT [command]")
    hosts, *command = words
    if hosts.startswith("-"):
        raise WrongUsage(f'"{hosts}" is not a flag of this command', USAGE)
    print(f"Connecting to {hosts}")
    if command and command[0] not in COMMANDS:
        return _tell(f"{usage()}\nCommand not found: Command not found {command[0]}", 127)
    if not command:
        print("Welcome to ZooKeeper!")
    client = _connect(hosts)
    try:
        print("\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null", flush=True)
        if command:
            return run(client, command)
        code = 0
        for line in _lines(hosts):
            if line[0] in _ENDINGS:
                break
            code = run(client, line)
        return code
    finally:
        client.stop()
        client.close()


def run(client: KazooClient, words: list[str]) -> int:
    """One command; its exit code."""
    from kazoo.exceptions import KazooException

    command = COMMANDS.get(words[0])
    if command is None:
        text = f"{usage()}\nCommand not found: Command not found {words[0]}"
        return _tell(text, COMMAND_NOT_FOUND)
    try:
        given = parse(command, words[1:])
        try:
            command.run(client, given)
        except KazooException as error:
            raise refusal(error, given.path) from None
    except Failure as error:
        return _tell(str(error), FAILED)
    return 0


def _lines(hosts: str) -> Iterator[list[str]]:
    """What is typed or piped in, line by line."""
    number = 0
    while True:
        try:
            line = input(f"[zk: {hosts}(CONNECTED) {number}] " if sys.stdin.isatty() else "")
            words = shlex.split(line)
        except EOFError:
            return
        except ValueError as error:
            _tell(f"{error}", FAILED)
            continue
        if words:
            number += 1
            yield words


def _connect(hosts: str) -> KazooClient:
    try:
        from kazoo.client import KazooClient
    except ModuleNotFoundError:
        raise ConfigError(
            "zookeeper-shell needs the package kazoo: pip install headrace[cluster]"
        ) from None
    from headrace.coordination.zookeeper.addresses import parse_connect

    servers, chroot = parse_connect(hosts)
    client = KazooClient(servers + chroot, timeout=_SESSION_TIMEOUT_S)
    # Not `start`, which warns of a chroot that does not exist: here one may be about to be made.
    client.start_async().wait(_CONNECT_TIMEOUT_S)
    if not client.connected:
        client.stop()
        client.close()
        raise Failure(
            f"no ZooKeeper answered at {hosts} within {_CONNECT_TIMEOUT_S:g} s",
            "start one with zookeeper-server-start, or correct the address",
        )
    return client


def _tell(text: str, code: int) -> int:
    sys.stdout.flush()
    print(text, file=sys.stderr)
    return code
