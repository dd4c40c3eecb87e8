"""Settings of a properties file, asked for by kind; what is wrong names the key and a remedy.

Names are compared without regard to case: books and wikis capitalise them as their editors liked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from headrace.errors import ConfigError

_REFERENCE: Final = re.compile(r"\$\{(env:)?([^{}]+)\}")
_FLAGS: Final = {"true": True, "false": False}
_MAX_DEPTH: Final = 10


class Properties(Mapping[str, str]):
    """What a file says. `where` is the file, for messages; `prefix` is put before every name."""

    def __init__(self, given: Mapping[str, str], where: str, prefix: str = "") -> None:
        self._given = {name.lower(): (name, value.strip()) for name, value in given.items()}
        self.where = where
        self._prefix = prefix

    def __getitem__(self, name: str) -> str:
        return self._given[name.lower()][1]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._given.values())

    def __len__(self) -> int:
        return len(self._given)

    def shown(self, name: str) -> str:
        """A name as the file has it."""
        return self._prefix + name

    def below(self, prefix: str) -> Properties:
        """The settings whose names begin with `prefix`, without it."""
        kept = {name[len(prefix) :]: self[name] for name in self if _begins(name, prefix)}
        return Properties(kept, self.where, self._prefix + prefix)

    def text(self, name: str, default: str = "") -> str:
        """A value; one that is empty counts as not given."""
        return self.get(name) or default

    def required(self, name: str, meaning: str) -> str:
        """A value that must be there."""
        found = self.text(name)
        if not found:
            raise ConfigError(f"{self.where}: {self.shown(name)} is missing; it is {meaning}")
        return found

    def number(self, name: str, default: int, *, at_least: int = 0) -> int:
        """A whole number."""
        text = self.text(name, str(default))
        try:
            number = int(text)
        except ValueError:
            number = at_least - 1
        if number < at_least:
            raise self.wrong(name, f"a whole number of {at_least} or more")
        return number

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        found = _FLAGS.get(self.text(name, str(default)).lower())
        if found is None:
            raise self.wrong(name, "true or false")
        return found

    def choice(self, name: str, default: str, allowed: Collection[str]) -> str:
        """One of these words, whatever its case."""
        text = self.text(name, default)
        for word in allowed:
            if word.lower() == text.lower():
                return word
        raise self.wrong(name, " or ".join(allowed))

    def names(self, name: str) -> list[str]:
        """Words between commas or blanks."""
        return [word for word in re.split(r"[,\s]+", self.text(name)) if word]

    def wrong(self, name: str, expected: str) -> ConfigError:
        """What to raise for a value that cannot be."""
        return ConfigError(
            f"{self.where}: {self.shown(name)} is {self.text(name)!r}; {expected} is expected"
        )

    def remarks(
        self,
        known: Collection[str],
        without_effect: Collection[str] = (),
        prefixes: tuple[str, ...] = (),
    ) -> list[str]:
        """A line for each name that has no meaning here, with the nearest one that has."""
        by_lower = {name.lower(): name for name in known}
        idle = {name.lower() for name in without_effect}
        remarks = []
        for name in self:
            if name.lower() in idle:
                remarks.append(f"{self.shown(name)} has no effect here")
            elif name.lower() not in by_lower and not any(_begins(name, p) for p in prefixes):
                near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.7)
                hint = f": did you mean {self.shown(by_lower[near[0]])}?" if near else ""
                remarks.append(f"{self.shown(name)} is unknown and has no effect{hint}")
        return remarks


def substituted(given: Mapping[str, str], where: str) -> dict[str, str]:
    """The values with `${other.key}` and `${env:VARIABLE}` replaced."""

    def value_of(match: re.Match[str]) -> str:
        variable, name = match.groups()
        found = os.environ.get(name) if variable else given.get(name)
        if found is None:
            kind = "an environment variable" if variable else "a key of this file"
            raise ConfigError(f"{where}: ${{{match[0][2:-1]}}} is not {kind}; set it")
        return found

    made = {}
    for name, text in given.items():
        whole = text
        for _ in range(_MAX_DEPTH):
            if (once := _REFERENCE.sub(value_of, whole)) == whole:
                break
            whole = once
        else:
            raise ConfigError(f"{where}: {name} refers to itself: {text}")
        made[name] = whole
    return made


def _begins(name: str, prefix: str) -> bool:
    return name.lower().startswith(prefix.lower())
