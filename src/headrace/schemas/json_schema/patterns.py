"""Regular expressions of schemas, matched in bounded time.

A pattern comes from whoever registered the schema and the text from whoever produced the record,
so a backtracking engine would let either of them hold up a worker. RE2 runs in linear time and
reads nearly all of ECMA 262; what it lacks (look-around, back-references, `\\uXXXX`) falls to
Python's engine, but only where the expression cannot explode and the text is short.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final, Protocol

MAX_BACKTRACKED_CHARACTERS: Final = 512
MAX_REPEATS_IN_SEQUENCE: Final = 3
"""The work of a backtracking engine grows with the text to the power of this."""
MAX_PATTERN_CHARACTERS: Final = 10_000


class PatternRefused(ValueError):
    """The pattern is not a regular expression, or cannot be matched in bounded time."""


class _Matcher(Protocol):
    def search(self, text: str, /) -> object: ...


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> tuple[_Matcher, bool]:
    """A matcher, and whether it runs in linear time; PatternRefused where there is none."""
    import re2

    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise PatternRefused(f"it is longer than {MAX_PATTERN_CHARACTERS} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options), True
    except (re2.error, UnicodeError):
        pass
    try:
        return re.compile(pattern), False
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternRefused(str(error)) from None


def search(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere in the text."""
    matcher, is_linear = compile_pattern(pattern)
    if not is_linear:
        if len(text) > MAX_BACKTRACKED_CHARACTERS:
            raise PatternRefused(
                f"only {MAX_BACKTRACKED_CHARACTERS} characters are matched with look-around "
                "or back-references"
            )
        if may_explode(pattern):
            raise PatternRefused(
                "look-around or back-references beside nested repetitions cannot be matched "
                "in bounded time"
            )
    return matcher.search(text) is not None


@lru_cache(maxsize=1024)
def may_explode(pattern: str) -> bool:
    """Whether a backtracking engine may take a time out of all proportion for this pattern."""
    try:
        return _repeats(parser.parse(pattern)) > MAX_REPEATS_IN_SEQUENCE
    except (re.error, OverflowError, RecursionError):
        return True  # not of Python's dialect, so nothing is known of it


def _repeats(sequence: Any) -> int:
    """How many repetitions are tried against each other; ambiguous ones count as many."""
    found = 0
    for code, argument in sequence:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            _, most, body = argument
            if most > 1:
                found += 1 + (MAX_REPEATS_IN_SEQUENCE if _varies(body) else 0)
        elif code is codes.SUBPATTERN:
            found += _repeats(argument[3])
        elif code is codes.BRANCH:
            found += max((_repeats(each) for each in argument[1]), default=0)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            # What is asserted is settled before the rest goes on, so it multiplies nothing.
            inner = _repeats(argument[1])
            found += inner if inner > MAX_REPEATS_IN_SEQUENCE else 0
        elif code is codes.GROUPREF_EXISTS:
            found += MAX_REPEATS_IN_SEQUENCE
    return found


def _varies(sequence: Any) -> bool:
    """Whether a part can match in more than one way, which a repetition around it multiplies."""
    for code, argument in sequence:
        if code is codes.BRANCH or (
            code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and argument[0] != argument[1]
        ):
            return True
        if code is codes.SUBPATTERN and _varies(argument[3]):
            return True
    return False
