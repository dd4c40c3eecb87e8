"""Texts that a regular expression matches.

Literals, `.`, classes, groups, alternatives and quantifiers; `*` and `+` repeat at most eight
times. What asks for more than one place at a time (look-around, references) is rejected.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from random import Random
from typing import Final, TypeAlias

from headrace.pipelines.connect.faults import ConfigException

Text: TypeAlias = Callable[[Random], str]

_UNBOUNDED: Final = 8
_ANY: Final = string.ascii_letters + string.digits
_CLASSES: Final = {"d": string.digits, "w": _ANY + "_", "s": " "}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r"}


def text_of(pattern: str) -> Text:
    """What draws texts that match `pattern`; ConfigException if it cannot be read."""
    reader = _Reader(pattern)
    made = reader.alternatives()
    if reader.at < len(pattern):
        raise reader.fault("a parenthesis too many")
    return made


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self.at = 0

    def fault(self, reason: str) -> ConfigException:
        return ConfigException.of("regex", self._pattern, f"{reason} at character {self.at + 1}")

    def alternatives(self) -> Text:
        choices = [self._sequence()]
        while self._take("|"):
            choices.append(self._sequence())
        return choices[0] if len(choices) == 1 else lambda rng: rng.choice(choices)(rng)

    def _sequence(self) -> Text:
        parts: list[Text] = []
        while self._ahead not in ("", "|", ")"):
            if self._take("^") or self._take("$"):
                continue  # every text is drawn as a whole
            parts.append(self._quantified(self._atom()))
        return lambda rng: "".join([part(rng) for part in parts])

    @property
    def _ahead(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _take(self, expected: str) -> bool:
        if not self._pattern.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def _next(self) -> str:
        found = self._ahead
        if not found:
            raise self.fault("the expression ends too early")
        self.at += 1
        return found

    def _atom(self) -> Text:
        if self._take("("):
            if self._ahead == "?" and not self._take("?:"):
                raise self.fault("only plain groups are known")
            inner = self.alternatives()
            if not self._take(")"):
                raise self.fault("a group that is not closed")
            return inner
        if self._take("["):
            return _one_of(self._members())
        if self._take("."):
            return _one_of(_ANY)
        if self._take("\\"):
            return _one_of(self._escaped())
        if self._ahead in "*+?{":
            raise self.fault("nothing to repeat")
        return _one_of(self._next())

    def _escaped(self) -> str:
        name = self._next()
        if name in _CLASSES:
            return _CLASSES[name]
        if name in _CONTROLS:
            return _CONTROLS[name]
        if name.isalnum():
            raise self.fault(f"\\{name} is not known")
        return name

    def _members(self) -> str:
        excluded = self._take("^")
        found: set[str] = set()
        first = True
        while first or self._ahead != "]":
            first = False
            low = self._escaped() if self._take("\\") else self._next()
            if len(low) == 1 and self._ahead == "-" and self._pattern[self.at + 1 :][:1] != "]":
                self.at += 1
                high = self._escaped() if self._take("\\") else self._next()
                found |= {chr(code) for code in range(ord(low), ord(high[0]) + 1)}
            else:
                found |= set(low)
        self.at += 1
        chosen = set(string.printable[:95]) - found if excluded else found
        if not chosen:
            raise self.fault("a class without members")
        return "".join(sorted(chosen))

    def _quantified(self, part: Text) -> Text:
        least, most = self._bounds()
        if (least, most) == (1, 1):
            return part
        return lambda rng: "".join([part(rng) for _ in range(rng.randint(least, most))])

    def _bounds(self) -> tuple[int, int]:
        if self._take("?"):
            return 0, 1
        if self._take("*"):
            return 0, _UNBOUNDED
        if self._take("+"):
            return 1, _UNBOUNDED
        if not self._take("{"):
            return 1, 1
        inside, closed, _ = self._pattern[self.at :].partition("}")
        low, comma, high = inside.partition(",")
        if not closed or not low.isdigit() or (high and not high.isdigit()):
            raise self.fault("a quantifier is {n}, {n,} or {n,m}")
        self.at += len(inside) + 1
        least = int(low)
        most = int(high) if high else least + _UNBOUNDED if comma else least
        if most < least:
            raise self.fault("a quantifier whose bounds are the wrong way round")
        return least, most


def _one_of(members: str) -> Text:
    return (lambda rng: rng.choice(members)) if len(members) > 1 else lambda rng: members
