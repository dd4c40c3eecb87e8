"""Flags as Kafka's tools take them: `--name value`, `--name=value`, `--name`, in any order.

One dash is as good as two, and the beginning of a name is enough while only one begins so. A table
says which there are; whatever is not in it is refused by name, since a flag that is silently left
out changes what a script means. `flags` reads such a table from a line of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from headrace.cli.failures import WrongUsage, did_you_mean
from headrace.cli.small_files import read_properties


class Takes(Enum):
    """What follows a flag."""

    NOTHING = "nothing"
    VALUE = "a value"
    MAYBE = "a value or nothing"
    PAIRS = "key=value, and may be repeated"
    MANY = "one value or more, up to the next flag"


_SPELT: Final = {
    "": Takes.NOTHING,
    "=": Takes.VALUE,
    "=?": Takes.MAYBE,
    "=K=V": Takes.PAIRS,
    "=…": Takes.MANY,
}


def flags(*texts: str) -> dict[str, Takes]:
    """The table of `--sync --topic= --state=? --property=K=V --files=…`, which may be in pieces."""
    words = (word.partition("=") for word in " ".join(texts).split())
    return {flag: _SPELT[equals + value] for flag, equals, value in words}


class Given:
    """The flags of one command line, and the command among them where the tool has commands."""

    def __init__(
        self, sequence: Iterable[tuple[str, str]], words: Iterable[str] = (), command: str = ""
    ) -> None:
        self.sequence = tuple(sequence)
        """Each flag with its value, in the order in which they were given."""
        self.words = tuple(words)
        self.command = command
        self._values: dict[str, list[str]] = {}
        for flag, value in self.sequence:
            self._values.setdefault(flag, []).append(value)

    def has(self, flag: str) -> bool:
        return flag in self._values

    def all(self, flag: str) -> list[str]:
        """The values of a flag that may be repeated."""
        return self._values.get(flag, [])

    def text(self, *flags: str) -> str | None:
        """The value of the first of these that was given; of one given twice, the last."""
        return next((self._values[flag][-1] for flag in flags if flag in self._values), None)

    def needed(self, *flags: str) -> str:
        found = self.text(*flags)
        if not found:
            raise WrongUsage(f"{flags[0]} is missing", f"give {flags[0]}; see --help")
        return found

    def number(self, flag: str) -> int | None:
        text = self.text(flag)
        if text is None:
            return None
        if not text.removeprefix("-").isdecimal():
            raise WrongUsage(f'{flag} "{text}" is not a number', f"give {flag} a whole number")
        return int(text)

    def properties(self, *flags: str, files: Iterable[str] = ()) -> dict[str, str]:
        """What files and `key=value` say; what stands on the command line wins."""
        found: dict[str, str] = {}
        for flag in files:
            for path in self._values.get(flag, ()):
                found |= read_properties(path)
        for flag in flags:
            for pair in self._values.get(flag, ()):
                key, _, value = pair.partition("=")
                found[key.strip()] = value
        return found


def parse(words: list[str], known: Mapping[str, Takes], command: str = "") -> Given:
    """The flags, or a usage error that names the word at fault."""
    sequence: list[tuple[str, str]] = []
    rest = list(reversed(words))
    while rest:
        word, equals, value = rest.pop().partition("=")
        flag = full_name(word, known)
        takes = known.get(flag)
        if takes is None:
            raise no_flag(flag, known)
        if takes is Takes.NOTHING:
            value = ""
        elif not equals:
            if rest and not (takes is Takes.MAYBE and rest[-1].startswith("--")):
                value = rest.pop()
            elif takes is not Takes.MAYBE:
                raise WrongUsage(f"{flag} needs {takes.value}", "see --help")
        if takes is Takes.MANY:
            while rest and not rest[-1].startswith("--"):
                sequence.append((flag, value))
                value = rest.pop()
        if takes is Takes.PAIRS and "=" not in value:
            raise WrongUsage(f'{flag} "{value}" has no value', f"write {flag} KEY=VALUE")
        sequence.append((flag, value))
    return Given(sequence, words, command)


def no_flag(flag: str, known: Iterable[str]) -> WrongUsage:
    """What to raise about a word that is in no table."""
    hint = did_you_mean(flag, known) or "see --help"
    return WrongUsage(f'"{flag}" is not a flag of this command', hint)


def full_name(word: str, known: Mapping[str, Takes]) -> str:
    """The flag that a word stands for; the word itself if it stands for none."""
    if word in known or not word.startswith("-"):
        return word
    full = f"--{word.lstrip('-')}"
    found = [flag for flag in known if flag == full] or [
        flag for flag in known if flag.startswith(full) and len(full) > 2
    ]
    return found[0] if len(found) == 1 else word


def usage(name: str, known: Mapping[str, Takes], example: str) -> str:
    """What `--help` prints."""
    from headrace.cli.kafka_compat.flag_words import words_of

    rows = []
    for flag, takes in known.items():
        words = words_of(name, flag)
        value = words.value if words else ("" if takes is Takes.NOTHING else f"<{takes.value}>")
        shown = f"[{value}]" if takes is Takes.MAYBE else value
        rows.append((f"{flag} {shown}".rstrip(), words.meaning if words else ""))
    width = max((len(left) for left, _ in rows), default=0)
    lines = [f"  {left:<{width}}  {right}".rstrip() for left, right in rows]
    return "\n".join([f"Usage: {name} [FLAGS]", "", *lines, "", f"Example: {example}"])
