"""The commands of ZooKeeper's shell, each with the words and the lines of the original.

A command takes a kazoo client and its words; results go to standard output, what was created and
what went wrong to standard error, as there.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headrace.cli.failures import Failure, WrongUsage

if TYPE_CHECKING:
    from kazoo.client import KazooClient

ANY_VERSION: Final = -1


class Words(NamedTuple):
    """What follows a command: its flags, with their values, and the rest in order."""

    flags: dict[str, str]
    rest: list[str]

    @property
    def path(self) -> str:
        return self.rest[0]

    @property
    def version(self) -> int:
        text = self.flags.get("-v", str(ANY_VERSION))
        if not text.removeprefix("-").isdecimal():
            raise WrongUsage(f'-v "{text}" is not a version', "give it a whole number")
        return int(text)


class Command(NamedTuple):
    """How a command is written and what it does."""

    usage: str
    run: Callable[[KazooClient, Words], None]
    flags: tuple[str, ...] = ()
    words: tuple[int, int] = (1, 1)
    """How many words it takes at least and at most, flags aside."""


def parse(command: Command, words: Sequence[str]) -> Words:
    """Flags may stand anywhere; `-v` is the one that has a value."""
    flags: dict[str, str] = {}
    rest: list[str] = []
    waiting = deque(words)
    while waiting:
        word = waiting.popleft()
        if word not in command.flags:
            rest.append(word)
        elif word == "-v":
            flags[word] = waiting.popleft() if waiting else ""
        else:
            flags[word] = ""
    least, most = command.words
    if not least <= len(rest) <= most:
        raise WrongUsage(command.usage)
    if rest and (not rest[0].startswith("/")):
        raise WrongUsage("Path must start with / character")
    if rest and len(rest[0]) > 1 and rest[0].endswith("/"):
        raise WrongUsage("Path must not end with / character")
    return Words(flags, rest)


def refusal(error: Exception, path: str) -> Failure:
    """What the original says when the server refuses."""
    from kazoo import exceptions

    texts = {
        exceptions.NoNodeError: f"Node does not exist: {path}",
        exceptions.NodeExistsError: f"Node already exists: {path}",
        exceptions.NotEmptyError: f"Node not empty: {path}",
        exceptions.BadVersionError: f"version No is not valid : {path}",
        exceptions.NoChildrenForEphemeralsError: f"Ephemerals cannot have children: {path}",
        exceptions.NoAuthError: f"Insufficient permission : {path}",
    }
    return Failure(texts.get(type(error)) or f"{type(error).__name__} {error}".strip())


def _ls(client: KazooClient, words: Words) -> None:
    if "-R" in words.flags:
        _print_below(client, words.path)
        return
    children, stat = client.get_children(words.path, include_data=True)
    print(f"[{', '.join(sorted(children))}]")
    if "-s" in words.flags:
        _print_stat(stat)


def _print_below(client: KazooClient, path: str) -> None:
    waiting = deque([path])
    while waiting:
        current = waiting.popleft()
        names = sorted(client.get_children(current))
        print(current)
        waiting.extend(f"{current.rstrip('/')}/{name}" for name in names)


def _get(client: KazooClient, words: Words) -> None:
    data, stat = client.get(words.path)
    print("null" if data is None else data.decode(errors="replace"))
    if "-s" in words.flags:
        _print_stat(stat)


def _stat(client: KazooClient, words: Words) -> None:
    from kazoo.exceptions import NoNodeError

    stat = client.exists(words.path)
    if stat is None:
        raise NoNodeError
    _print_stat(stat)


def _create(client: KazooClient, words: Words) -> None:
    made = client.create(
        words.path,
        words.rest[1].encode() if len(words.rest) > 1 else None,
        ephemeral="-e" in words.flags,
        sequence="-s" in words.flags,
    )
    print(f"Created {made}", file=sys.stderr)


def _set(client: KazooClient, words: Words) -> None:
    stat = client.set(words.path, words.rest[1].encode(), version=words.version)
    if "-s" in words.flags:
        _print_stat(stat)


def _delete(client: KazooClient, words: Words) -> None:
    client.delete(words.path, version=words.version)


def _deleteall(client: KazooClient, words: Words) -> None:
    client.delete(words.path, recursive=True)


def _version(_client: KazooClient, _words: Words) -> None:
    from headrace import __version__

    print(f"ZooKeeper CLI version: headrace {__version__}")


def _help(_client: KazooClient, _words: Words) -> None:
    print(usage())


def _print_stat(stat: Any) -> None:
    print(f"cZxid = {stat.czxid:#x}")
    print(f"ctime = {_date(stat.ctime)}")
    print(f"mZxid = {stat.mzxid:#x}")
    print(f"mtime = {_date(stat.mtime)}")
    print(f"pZxid = {stat.pzxid:#x}")
    print(f"cversion = {stat.cversion}")
    print(f"dataVersion = {stat.version}")
    print(f"aclVersion = {stat.aversion}")
    print(f"ephemeralOwner = {stat.ephemeralOwner:#x}")
    print(f"dataLength = {stat.dataLength}")
    print(f"numChildren = {stat.numChildren}")


def _date(at_ms: int) -> str:
    return time.strftime("%a %b %d %H:%M:%S %Z %Y", time.localtime(at_ms / 1000))


COMMANDS: Final = {
    "create": Command("create [-s] [-e] path [data]", _create, ("-s", "-e"), (1, 2)),
    "delete": Command("delete [-v version] path", _delete, ("-v",)),
    "deleteall": Command("deleteall path", _deleteall),
    "get": Command("get [-s] path", _get, ("-s",)),
    "help": Command("help", _help, words=(0, 0)),
    "ls": Command("ls [-s] [-R] path", _ls, ("-s", "-R")),
    "set": Command("set path data [-s] [-v version]", _set, ("-s", "-v"), (2, 2)),
    "stat": Command("stat path", _stat),
    "version": Command("version", _version, words=(0, 0)),
}


def usage() -> str:
    lines = ["ZooKeeper -server host:port cmd args"]
    lines += [f"\t{command.usage}" for command in COMMANDS.values()]
    return "\n".join([*lines, "\tquit"])
