"""Command lines that Kafka reads with argparse: words of its own for what is missing, and commands.

A command stands among the flags: `kafka-features --bootstrap-server H:P describe`. Here flags may
stand on either side of it; short spellings are those of the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka_compat.administering import Told, complain
from headrace.cli.kafka_compat.flags import Given, Takes, full_name, no_flag, parse
from headrace.cli.kafka_compat.tool import Tool, read_flags
from headrace.errors import HeadraceError


def read_arguments(tool: Tool, words: list[str]) -> Given | None:
    """Of a tool without commands: help, if that is asked for or nothing is given."""
    if not words or "--help" in words or "-h" in words:
        print(tool.usage)
        return None
    return parse(words, tool.flags)


def error_of(name: str) -> Callable[[HeadraceError], int]:
    """The ending of a wrong command line, in argparse's form; `main` tells what else goes wrong."""

    def refused(error: HeadraceError) -> int:
        if not isinstance(error, Told | WrongUsage):
            raise error
        return complain(f"{name}: error: {error}")

    return refused


def need_arguments(given: Given, *flags: str, tool: str = "") -> None:
    """Refuse a command line that lacks one of these; `tool` is the name to say it under."""
    for flag in flags:
        if not given.has(flag):
            raise Told(f"{tool and f'{tool}: error: '}argument {flag} is required")


def read_command(tool: Tool, words: list[str]) -> Given | None:
    """The command and its flags; None after `--help` was answered."""
    full = [tool.short.get(word, word) for word in words]
    command, rest = (None, full) if "--help" in full else _split(tool.name, full, tool.flags)
    if "--help" in full or not full or (not command and "--version" in full):
        return read_flags(tool, full)
    if command is None:
        listed = ", ".join(tool.commands)
        raise Told(f"{tool.name}: error: too few arguments; say what to do: {listed}")
    if command not in tool.commands:
        choices = ", ".join(map(repr, tool.commands))
        raise Told(f"{tool.name}: error: invalid choice: '{command}' (choose from {choices})")
    given = read_flags(tool, rest, command) if rest else Given((), command=command)
    owned = {flag for flags_of in tool.commands.values() for flag in flags_of}
    for flag, _ in given.sequence if given else ():
        if flag in owned and flag not in tool.commands[command]:
            raise Told(f"{tool.name}: error: unrecognized arguments: '{flag}'")
    return given


def _split(name: str, words: list[str], known: Mapping[str, Takes]) -> tuple[str | None, list[str]]:
    """The first word that is neither a flag nor its value, and all others.

    A flag that is none is refused here: whether the next word is its value nobody can tell, and
    the complaint would be about that word.
    """
    position = 0
    while position < len(words):
        word, equals, _ = words[position].partition("=")
        if not word.startswith("-"):
            return words[position], words[:position] + words[position + 1 :]
        flag = full_name(word, known)
        if flag not in known and flag != "--version":
            raise Told(f"{name}: error: {no_flag(word, known)}")
        takes_next = known.get(flag, Takes.NOTHING) is not Takes.NOTHING
        position += 2 if takes_next and not equals else 1
    return None, words
