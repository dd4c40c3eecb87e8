"""KCQL: the statements by which Lenses' connectors say what goes where.

    INSERT INTO target SELECT *|field [AS name], … FROM source
        [PK field, …] [WITHKEY(field, …)] [WITHCONVERTER=`class`] [STOREAS kind] [TTL=seconds] …

Names may have any characters but blanks and `( ) , ; =`; others go between backticks. Several
statements are separated by semicolons. Knows nothing of what a connector makes of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from headrace.pipelines.connect.faults import ConfigException

_TOKEN: Final = re.compile(r"`([^`]*)`|([(),;=])|([^\s(),;=`]+)")
_FORM: Final = "INSERT INTO target SELECT * FROM source"


@dataclass(frozen=True, slots=True)
class Statement:
    """One of them. No `fields` are all fields; `options` are by their names in upper case."""

    target: str
    source: str
    fields: tuple[tuple[str, str], ...] = ()
    keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    text: str = ""


def statements(key: str, text: str, options: Collection[str]) -> list[Statement]:
    """The statements of the setting `key`; ConfigException if one cannot be understood, or has
    another option than these."""
    found = [_Reader(key, part, options).statement() for part in _parts(text)]
    if not found:
        raise ConfigException.of(key, text, f"a statement is expected: {_FORM}")
    return found


def _parts(text: str) -> list[str]:
    """The text at its semicolons, except for those between backticks."""
    parts = re.findall(r"(?:`[^`]*`|[^;`]|`)+", text)
    return [part.strip() for part in parts if part.strip()]


class _Reader:
    def __init__(self, key: str, text: str, options: Collection[str]) -> None:
        self._key, self._text, self._options = key, text, options
        found = list(_TOKEN.finditer(text))
        if "".join(text.split()) != "".join("".join(each[0].split()) for each in found):
            raise self._fault("a backtick is not closed")
        self._tokens = [(each[1] if each[1] is not None else each[0]) for each in found]
        self._quoted = [each[1] is not None for each in found]
        self._at = 0

    def statement(self) -> Statement:
        target = ""
        if self._word("INSERT") or self._word("UPSERT"):
            self._expect("INTO")
            target = self._name("a target")
        self._expect("SELECT")
        fields = self._selected()
        self._expect("FROM")
        source = self._name("a source")
        keys: tuple[str, ...] = ()
        options: dict[str, str] = {}
        while self._at < len(self._tokens):
            if self._word("PK"):
                keys = self._names()
            elif self._word("WITHKEY"):
                self._expect("(")
                keys = self._names()
                self._expect(")")
            else:
                name = self._tokens[self._at].upper()
                if name not in self._options:
                    raise self._fault(f"{self._tokens[self._at]} is not understood here")
                self._at += 1
                self._word("=")
                options[name] = self._name(f"a value of {name}")
        return Statement(target, source, fields, keys, options, self._text)

    def _selected(self) -> tuple[tuple[str, str], ...]:
        if self._word("*"):
            return ()
        fields = []
        while True:
            path = self._name("a field")
            fields.append((path, self._name("a name") if self._word("AS") else path))
            if not self._word(","):
                return tuple(fields)

    def _names(self) -> tuple[str, ...]:
        names = [self._name("a field")]
        while self._word(","):
            names.append(self._name("a field"))
        return tuple(names)

    def _word(self, word: str) -> bool:
        if self._at == len(self._tokens) or self._quoted[self._at]:
            return False
        if self._tokens[self._at].upper() != word:
            return False
        self._at += 1
        return True

    def _expect(self, word: str) -> None:
        if not self._word(word):
            raise self._fault(f"{word} is expected")

    def _name(self, what: str) -> str:
        if self._at == len(self._tokens):
            raise self._fault(f"{what} is expected at the end")
        found = self._tokens[self._at]
        if not found or (found in "(),;=" and not self._quoted[self._at]):
            raise self._fault(f"{what} is expected before {found or 'an empty name'}")
        self._at += 1
        return found

    def _fault(self, reason: str) -> ConfigException:
        return ConfigException.of(self._key, self._text, f"{reason}. The form is: {_FORM}")
