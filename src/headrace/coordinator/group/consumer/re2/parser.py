"""The syntax of RE2, as `Pattern.compile` of RE2/J takes it.

    literals   x \\. \\t \\n \\r \\f \\v \\a \\x7F \\x{10FFFF} \\123 \\Q...\\E
    classes    . [xyz] [^a-z] [[:alpha:]] \\d \\D \\s \\S \\w \\W \\pN \\p{Greek} \\P{Lu}
    groups     (...) (?:...) (?P<name>...) (?<name>...) (?flags) (?flags:...), flags i m s U
    repeats    * + ? {n} {n,} {n,m}, each with ? for the lazy one, which matches no differently here
    places     ^ $ \\A \\z \\b \\B

What RE2 does not have is refused: back references, look-around, possessive and atomic matching.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from headrace.coordinator.group.consumer.re2.charset import (
    ALPHABET,
    NONE,
    PERL,
    POSIX,
    UNICODE,
    CharSet,
    between,
    fold,
)
from headrace.coordinator.group.consumer.re2.program import (
    Alternatives,
    Assert,
    Chars,
    InvalidRegex,
    Node,
    Place,
    Repeat,
    Sequenced,
)

MAX_LENGTH: Final = 10_000
MAX_REPEAT: Final = 1_000
MAX_DEPTH: Final = 100
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PLACES: Final = {
    "A": Place.BEGIN,
    "z": Place.END,
    "b": Place.WORD_BOUNDARY,
    "B": Place.NO_WORD_BOUNDARY,
}


def parse(text: str) -> Node:
    """The tree of an expression; InvalidRegex if it is none."""
    if len(text) > MAX_LENGTH:
        raise InvalidRegex("expression too large")
    parser = _Parser(text)
    node = parser.alternatives(depth=0)
    if parser.position < len(text):
        raise InvalidRegex("unexpected )")
    return node


class _Count(NamedTuple):
    at_least: int
    at_most: int | None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.folds_case = False
        self.names: set[str] = set()

    def alternatives(self, depth: int) -> Node:
        """All up to the end of the group; flags that are set inside end with it."""
        if depth > MAX_DEPTH:
            raise InvalidRegex("expression nests too deeply")
        folds_case = self.folds_case
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        self.folds_case = folds_case
        return branches[0] if len(branches) == 1 else Alternatives(tuple(branches))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            if self._take("\\Q"):
                parts += self._quoted()
                continue
            part = self._atom(depth)
            if part is None:
                if not parts:
                    continue
                part = parts.pop()  # behind flags stands what was before them
            count = self._count()
            if count is not None:
                part = Repeat(part, *count)
                if self._count() is not None:
                    raise InvalidRegex("invalid nested repetition operator")
            parts.append(part)
        return Sequenced(tuple(parts))

    def _quoted(self) -> list[Node]:
        end = self.text.find("\\E", self.position)
        quoted = self.text[self.position :] if end < 0 else self.text[self.position : end]
        self.position = len(self.text) if end < 0 else end + len("\\E")
        parts: list[Node] = [self._literal(char) for char in quoted]
        count = self._count() if parts else None
        if count is not None:
            parts[-1] = Repeat(parts[-1], *count)
        return parts

    def _atom(self, depth: int) -> Node | None:
        char = self._next()
        match char:
            case "(":
                return self._group(depth)
            case "[":
                return Chars(self._class())
            case ".":
                return Chars(ALPHABET)
            case "^":
                return Assert(Place.BEGIN)
            case "$":
                return Assert(Place.END)
            case "*" | "+" | "?":
                raise InvalidRegex(f"missing argument to repetition operator: {char}")
            case "{":
                self.position -= 1
                if self._count() is not None:
                    raise InvalidRegex("missing argument to repetition operator: {")
                self.position += 1
            case "\\":
                return self._escape()
        return self._literal(char)

    def _literal(self, char: str) -> Chars:
        chars = frozenset(char)
        return Chars((fold(chars) if self.folds_case else chars) & ALPHABET)

    def _group(self, depth: int) -> Node | None:
        folds_case = self.folds_case
        if self._take("?"):
            if self._take("P<") or (self._looks_like_name() and self._take("<")):
                self._name()
            elif not self._flags():
                return None
        body = self.alternatives(depth + 1)
        self.folds_case = folds_case
        if not self._take(")"):
            raise InvalidRegex("missing closing )")
        return body

    def _looks_like_name(self) -> bool:
        return self.text[self.position : self.position + 2] not in ("<=", "<!")

    def _name(self) -> None:
        end = self.text.find(">", self.position)
        name = self.text[self.position : end]
        if end < 0 or not (name.isascii() and name.replace("_", "a").isalnum()):
            raise InvalidRegex("invalid named capture")
        if name in self.names:
            raise InvalidRegex(f"duplicate capture group name: {name}")
        self.names.add(name)
        self.position = end + 1

    def _flags(self) -> bool:
        """Read flags; True if a group with them follows, False if they hold from here on."""
        value = True
        empty = True
        while True:
            char = self._next("missing closing )")
            if char in ":)" and (not empty or value):
                return char == ":"
            if char == "-" and value:
                value, empty = False, True
                continue
            if char == "i":
                self.folds_case = value
            elif char not in "msU":  # names have one line, and how much a part matches is all one
                raise InvalidRegex("invalid or unsupported Perl syntax: (?" + char)
            empty = False

    def _count(self) -> _Count | None:
        """The repetition that stands here, if one does."""
        counts = {"*": _Count(0, None), "+": _Count(1, None), "?": _Count(0, 1)}
        char = self.text[self.position : self.position + 1]
        count = counts.get(char)
        if count is not None:
            self.position += 1
        elif char == "{":
            count = self._braces()
        if count is not None:
            self._take("?")
        return count

    def _braces(self) -> _Count | None:
        """{n}, {n,} or {n,m}; anything else in braces is no repetition but itself."""
        end = self.text.find("}", self.position)
        inside = self.text[self.position + 1 : end] if end >= 0 else ""
        first, comma, second = inside.partition(",")
        if not _is_number(first) or (second and not _is_number(second)):
            return None
        at_least = int(first)
        at_most = (int(second) if second else None) if comma else at_least
        if at_least > MAX_REPEAT or (at_most or 0) > MAX_REPEAT:
            raise InvalidRegex("invalid repeat count")
        if at_most is not None and at_most < at_least:
            raise InvalidRegex("invalid repeat count")
        self.position = end + 1
        return _Count(at_least, at_most)

    def _escape(self) -> Node:
        char = self._next("trailing backslash at end of expression")
        place = _PLACES.get(char)
        if place is not None:
            return Assert(place)
        chars = self._class_escape(char)
        if chars is not None:
            return Chars(fold(chars) & ALPHABET if self.folds_case else chars)
        return self._literal(self._char_escape(char))

    def _class_escape(self, char: str) -> CharSet | None:
        """The characters of \\d, \\pN and their like; None if this escape is another one."""
        if char in PERL:
            return PERL[char]
        if char not in "pP":
            return None
        name = self._next("invalid character class range")
        if name == "{":
            end = self.text.find("}", self.position)
            if end < 0:
                raise InvalidRegex("invalid character class range: \\p{")
            name, self.position = self.text[self.position : end], end + 1
        negated = (char == "P") != name.startswith("^")
        chars = UNICODE.get(name.removeprefix("^"))
        if chars is None:
            raise InvalidRegex(f"invalid character class range: \\{char}{{{name}}}")
        return ALPHABET - chars if negated else chars

    def _char_escape(self, char: str) -> str:
        """The character that an escape stands for."""
        if char in _CONTROL:
            return _CONTROL[char]
        if char == "x":
            return self._hexadecimal()
        following = self.text[self.position : self.position + 1]
        if char == "0" or (char in "1234567" and following and following in "01234567"):
            number = char
            while len(number) < 3 and (octal := self.text[self.position : self.position + 1]):
                if octal not in "01234567":
                    break
                number += octal
                self.position += 1
            return chr(int(number, 8))
        if not (char.isascii() and char.isalnum()):
            return char
        raise InvalidRegex(f"invalid escape sequence: \\{char}")

    def _hexadecimal(self) -> str:
        if self._take("{"):
            end = self.text.find("}", self.position)
            number = self.text[self.position : end] if end >= 0 else ""
            self.position = end + 1
        else:
            number = self.text[self.position : self.position + 2]
            self.position += 2
            if len(number) < 2:
                number = ""
        if not number or any(each not in "0123456789abcdefABCDEF" for each in number):
            raise InvalidRegex("invalid escape sequence: \\x")
        if len(number.lstrip("0")) > 6 or int(number, 16) > 0x10FFFF:
            raise InvalidRegex("invalid escape sequence: \\x{" + number)
        return chr(int(number, 16))

    def _class(self) -> CharSet:
        """The characters between brackets, the first of which has been read."""
        negated = self._take("^")
        chars = NONE
        is_first = True
        while is_first or not self._take("]"):
            is_first = False
            chars |= self._class_item()
        if self.folds_case:
            chars = fold(chars) & ALPHABET
        return ALPHABET - chars if negated else chars

    def _class_item(self) -> CharSet:
        if self._take("[:"):
            end = self.text.find(":]", self.position)
            if end >= 0:
                name, self.position = self.text[self.position : end], end + len(":]")
                chars = POSIX.get(name.removeprefix("^"))
                if chars is None:
                    raise InvalidRegex(f"invalid character class range: [:{name}:]")
                return ALPHABET - chars if name.startswith("^") else chars
            self.position -= len("[:")
        first = self._next("missing closing ]")
        if first == "\\":
            escape = self._next("missing closing ]")
            chars = self._class_escape(escape)
            if chars is not None:
                return chars
            first = self._char_escape(escape)
        rest = self.text[self.position : self.position + 2]
        if len(rest) < 2 or rest[0] != "-" or rest[1] == "]":
            return between(first, first)
        self.position += 1
        last = self._next("missing closing ]")
        if last == "\\":
            last = self._char_escape(self._next("missing closing ]"))
        if last < first:
            raise InvalidRegex(f"invalid character class range: {first}-{last}")
        return between(first, last)

    def _take(self, expected: str) -> bool:
        if not self.text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        return True

    def _next(self, otherwise: str = "unexpected end") -> str:
        if self.position >= len(self.text):
            raise InvalidRegex(otherwise)
        self.position += 1
        return self.text[self.position - 1]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9
