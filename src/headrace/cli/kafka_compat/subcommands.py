"""Tools that have a command among their flags: `kafka-features --bootstrap-server H:P describe`.

Kafka reads these with another library than the rest. Flags may stand on either side of the command
here; short spellings are those of the tool.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from headrace.cli.kafka_compat.administering import Told, read_flags
from headrace.cli.kafka_compat.flags import Given, Takes, full_name, no_flag


class Called(NamedTuple):
    command: str
    given: Given


def read_command(
    name: str,
    words: list[str],
    commands: Mapping[str, Collection[str]],
    known: Mapping[str, Takes],
    short: Mapping[str, str],
    example: str,
) -> Called | None:
    """The command and its flags; None after `--help` was answered.

    `commands` says which flags belong to which command; those of no command go with all.
    """
    full = [short.get(word, word) for word in words]
    command, flags = (None, full) if "--help" in full else _split(name, full, known)
    if "--help" in full or not full or (not command and "--version" in full):
        given = read_flags(f"{name} {'|'.join(commands)}", full, known, example)
        assert given is None
        return None
    if command is None:
        raise Told(f"{name}: error: too few arguments; say what to do: {', '.join(commands)}")
    if command not in commands:
        choices = ", ".join(map(repr, commands))
        raise Told(f"{name}: error: invalid choice: '{command}' (choose from {choices})")
    given = read_flags(name, flags, known, example) if flags else Given(())
    assert given is not None
    owned = {flag for flags_of in commands.values() for flag in flags_of}
    for flag, _ in given.sequence:
        if flag in owned and flag not in commands[command]:
            raise Told(f"{name}: error: unrecognized arguments: '{flag}'")
    return Called(command, given)


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
