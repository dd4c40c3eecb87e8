"""Text cut at the delimiters of arrays, maps and strings, where no backslash stands before them."""

from __future__ import annotations

from typing import Final

TRIMMED: Final = "".join(map(chr, range(ord(" ") + 1)))
"""What Java's `trim` takes away."""

_DELIMITERS: Final = frozenset('",:[]{}')


class Tokens:
    """The tokens of a text, one after the other, and back to any place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._ahead: str | None = None

    def mark(self) -> int:
        """The place to go back to."""
        return self._at - len(self._ahead or "")

    def rewind(self, place: int) -> None:
        """Go back."""
        self._at, self._ahead = place, None

    def has_next(self) -> bool:
        """Whether a token is left."""
        return self._ahead is not None or self._at < len(self.text)

    def next(self) -> str:
        """The next token."""
        token = self._cut() if self._ahead is None else self._ahead
        self._ahead = None
        return token

    def several(self, count: int) -> str | None:
        """The text of so many tokens; None if there are fewer."""
        start = self.mark()
        for _ in range(count):
            if not self.has_next():
                self.rewind(start)
                return None
            self.next()
        return self.text[start : self._at]

    def take(self, expected: str) -> bool:
        """Whether the next token that is not blank is this one; if so it is taken."""
        if self._ahead is None:
            if not self.has_next():
                return False
            self._ahead = self._cut()
        while not self._ahead.strip(TRIMMED) and self._at < len(self.text):
            self._ahead = self._cut()
        if self._ahead.strip(TRIMMED) != expected:
            return False
        self._ahead = None
        return True

    def _cut(self) -> str:
        start, escaped = self._at, False
        while self._at < len(self.text):
            char = self.text[self._at]
            if char in _DELIMITERS and not escaped:
                self._at += start == self._at
                break
            escaped = char == "\\" and not escaped
            self._at += 1
        return self.text[start : self._at]
