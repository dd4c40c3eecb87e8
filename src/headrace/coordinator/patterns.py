"""Regular expressions that clients send, in the syntax of RE2.

Members of a group choose an expression and the broker runs it over all topics: an engine that
tracks back could be held for hours by fifteen characters. RE2 needs linear time and bounded memory
whatever the expression, and is what Apache Kafka uses (as RE2/J). It is loaded when the first
expression comes, since most brokers never see one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_MAX_MEMORY_BYTES: Final = 1 << 20


class InvalidRegex(ValueError):
    """The text is no expression of RE2, or too large a one; says why."""


class Pattern:
    """A compiled expression."""

    __slots__ = ("_fullmatch",)

    def __init__(self, fullmatch: Callable[[str], object]) -> None:
        self._fullmatch = fullmatch

    def matches(self, text: str) -> bool:
        """Whether the expression stands for the whole of `text`."""
        return self._fullmatch(text) is not None


def compile_regex(text: str) -> Pattern:
    """The pattern of an expression; InvalidRegex says why there is none."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    try:
        return Pattern(re2.compile(text, options=options).fullmatch)
    except (re2.error, UnicodeError) as fault:
        raise InvalidRegex(str(fault)) from None
