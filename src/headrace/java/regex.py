"""Java's regular expressions and replacements, run by Python's engine.

Both engines take the first alternative that leads to a match, so most expressions mean the same
once their spelling is translated. What has no equal spelling (classes within classes, `&&`,
Unicode properties, flags in the middle) is rejected when the expression is compiled: an expression
that compiles here matches what it matches in Java. `\\d`, `\\w`, `\\s` and `(?i)` know ASCII only.
"""

from __future__ import annotations

import re
from typing import Final

_LINE_ENDS: Final = "\\n\\r\\u0085\\u2028\\u2029"
_POSIX: Final = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": "\\x00-\\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": "!-/:-@\\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": " \\t",
    "Cntrl": "\\x00-\\x1f\\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": " \\t\\n\\x0b\\f\\r",
}
_HORIZONTAL: Final = " \\t\\xa0\\u1680\\u180e\\u2000-\\u200a\\u202f\\u205f\\u3000"
_PLAIN_CLASSES: Final = "dDwWsS"
_ANCHORS: Final = {"b": "\\b", "B": "\\B", "A": "\\A", "z": "\\Z", "Z": "(?=\\n?\\Z)"}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_CODE: Final = re.compile(r"x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|0([0-7]{1,3})")
_REPEAT: Final = re.compile(r"\{(\d+)(,\d*)?\}")
_GROUP: Final = re.compile(
    r"\(\?(?::|=|!|<=|<!|>|(?P<flags>[ism]+)(?P<scope>[:)])|<(?P<name>[a-zA-Z][a-zA-Z0-9]*)>)"
)
_REFERENCE: Final = re.compile(r"\\(.)|\$(?:\{(\w+)\}|(\d+))|\$|\\", re.DOTALL)


class InvalidJavaRegex(ValueError):
    """The text is no expression of Java's, or one that cannot be translated; says why."""


def compile_java(text: str) -> re.Pattern[str]:
    """Python's pattern of a Java expression."""
    translated = _Translation(text).whole()
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as fault:
        raise InvalidJavaRegex(str(fault)) from None


class Replacement:
    """A replacement as Java's Matcher takes it: `$1`, `${name}`, and `\\` before what is meant."""

    __slots__ = ("_parts",)

    def __init__(self, text: str, pattern: re.Pattern[str]) -> None:
        """InvalidJavaRegex if it names a group that the pattern does not have."""
        self._parts: list[str | int] = []
        end = 0
        for found in _REFERENCE.finditer(text):
            self._parts.append(text[end : found.start()])
            self._parts += _reference(found, pattern)
            end = found.end()
        self._parts.append(text[end:])

    def of(self, match: re.Match[str]) -> str:
        """What stands in the place of a match; a group that took no part is empty."""
        return "".join(
            part if isinstance(part, str) else match.group(part) or "" for part in self._parts
        )


def _reference(found: re.Match[str], pattern: re.Pattern[str]) -> list[str | int]:
    literal, name, digits = found.groups()
    if literal is not None:
        return [literal]
    if name is not None:
        if name not in pattern.groupindex:
            raise InvalidJavaRegex(f"No group with name {{{name}}}")
        return [pattern.groupindex[name]]
    if digits is None:
        raise InvalidJavaRegex(
            f"a {found[0]} in a replacement stands before a group or is written \\{found[0]}"
        )
    group = int(digits[0])
    if group > pattern.groups:
        raise InvalidJavaRegex(f"No group {group}")
    taken = 1
    while taken < len(digits) and int(digits[: taken + 1]) <= pattern.groups:
        taken += 1
        group = int(digits[:taken])
    return [group, digits[taken:]]


class _Translation:
    """One walk over an expression."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        # Whether a dot stands for line ends depends on a flag that Python's pattern carries too.
        self.dot = "." if re.search(r"\(\?[im]*s", text) else f"[^{_LINE_ENDS}]"

    def whole(self) -> str:
        made = []
        while self.at < len(self.text):
            made.append(self._next())
        return "".join(made)

    def _next(self) -> str:
        char = self.text[self.at]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        if char == "(":
            return self._group()
        if char == "{":
            return self._repeat()
        self.at += 1
        if char == ".":
            return self.dot
        return char if char in "|)*+?^$" else re.escape(char)

    def _repeat(self) -> str:
        found = _REPEAT.match(self.text, self.at)
        if found is None:
            raise InvalidJavaRegex(
                f"Illegal repetition near index {self.at}: write \\{{ for a brace"
            )
        self.at = found.end()
        return found[0]

    def _group(self) -> str:
        if not self.text.startswith("(?", self.at):
            self.at += 1
            return "("
        found = _GROUP.match(self.text, self.at)
        if found is None:
            raise InvalidJavaRegex(
                f"the group at index {self.at} is of a kind that is not supported"
            )
        if found["scope"] == ")" and self.at:
            raise InvalidJavaRegex(
                f"flags at index {self.at} must stand at the start, or be (?i:...)"
            )
        self.at = found.end()
        return f"(?P<{found['name']}>" if found["name"] else found[0]

    def _escape(self) -> str:
        """What follows a backslash, outside of a class."""
        following = self.text[self.at + 1 : self.at + 2]
        if following == "Q":
            return self._quoted()
        if following in _ANCHORS and following:
            self.at += 2
            return _ANCHORS[following]
        if following == "k":
            found = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>").match(self.text, self.at)
            if found is None:
                raise InvalidJavaRegex("\\k is not followed by '<' for named capturing group")
            self.at = found.end()
            return f"(?P={found[1]})"
        if following.isdigit() and following != "0":
            found = re.compile(r"\\([1-9])(?!\d)").match(self.text, self.at)
            if found is None:
                raise InvalidJavaRegex(f"the reference at index {self.at} has more than one digit")
            self.at = found.end()
            return f"(?:\\{found[1]})"
        content, one = self._member()
        return re.escape(content) if one else f"[{content}]"

    def _quoted(self) -> str:
        end = self.text.find("\\E", self.at)
        inner = self.text[self.at + 2 : None if end < 0 else end]
        self.at = len(self.text) if end < 0 else end + 2
        return re.escape(inner)

    def _member(self) -> tuple[str, bool]:
        """An escape as one character (True), or as the content of a class."""
        following = self.text[self.at + 1 : self.at + 2]
        code = _CODE.match(self.text, self.at + 1)
        if code is not None:
            self.at = code.end()
            octal = code[4]
            if octal is not None and int(octal, 8) > 0o377:
                raise InvalidJavaRegex(f"the octal number {octal} is too large: \\0377 is the last")
            point = int(octal, 8) if octal else int(code[1] or code[2] or code[3], 16)
            if point > 0x10FFFF:
                raise InvalidJavaRegex("Hexadecimal codepoint is too big")
            return chr(point), True
        self.at += 2
        if following in ("p", "P"):
            return self._property(negated=following == "P"), False
        if following and following in _PLAIN_CLASSES:
            return "\\" + following, False
        if following == "h":
            return _HORIZONTAL, False
        if following in _CONTROLS:
            return _CONTROLS[following], True
        if not following or following.isalnum():
            raise InvalidJavaRegex(f"the escape \\{following} is unknown or not supported")
        return following, True

    def _property(self, *, negated: bool) -> str:
        found = re.compile(r"\{(\w+)\}").match(self.text, self.at)
        content = _POSIX.get(found[1]) if found else None
        if found is None or content is None or negated:
            known = ", ".join(_POSIX)
            raise InvalidJavaRegex(f"of \\p{{...}} only these are supported: {known}")
        self.at = found.end()
        return content

    def _class(self) -> str:
        begin = self.at
        self.at += 1
        made = ["["]
        if self.text.startswith("^", self.at):
            self.at += 1
            made.append("^")
        first = True
        while not self.text.startswith("]", self.at) or first:
            if self.at >= len(self.text) or (first and self.text[self.at] == "]"):
                raise InvalidJavaRegex(f"Unclosed character class near index {begin}")
            made.append(self._class_part())
            first = False
        self.at += 1
        return "".join(made) + "]"

    def _class_part(self) -> str:
        char = self.text[self.at]
        if char == "[" or self.text.startswith("&&", self.at):
            raise InvalidJavaRegex(
                "classes within classes are not supported: write \\[ for a bracket"
            )
        if char == "\\":
            if self.text.startswith("\\Q", self.at):
                return self._quoted()
            content, one = self._member()
            return _in_class(content) if one else content
        self.at += 1
        return "-" if char == "-" else _in_class(char)


def _in_class(char: str) -> str:
    return "\\" + char if char in "\\]^[-&~|" else char
