"""Sets of characters, reduced to those that a topic name can have.

A class of Unicode, a negation or a fold of case is then a small set of ASCII characters, whatever
else it holds. `[^a]` is all but `a`; a letter of another alphabet is the empty set.
"""

from __future__ import annotations

from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from typing import Final, TypeAlias

CharSet: TypeAlias = frozenset[str]

ALPHABET: Final[CharSet] = frozenset(ascii_letters + digits + "._-")
WORD: Final[CharSet] = frozenset(ascii_letters + digits + "_")
NONE: Final[CharSet] = frozenset()

_LETTERS: Final = frozenset(ascii_letters)
_DIGITS: Final = frozenset(digits)

PERL: Final[dict[str, CharSet]] = {
    "d": _DIGITS,
    "D": ALPHABET - _DIGITS,
    "s": NONE,
    "S": ALPHABET,
    "w": WORD,
    "W": ALPHABET - WORD,
}

POSIX: Final[dict[str, CharSet]] = {
    "alnum": _LETTERS | _DIGITS,
    "alpha": _LETTERS,
    "ascii": ALPHABET,
    "blank": NONE,
    "cntrl": NONE,
    "digit": _DIGITS,
    "graph": ALPHABET,
    "lower": frozenset(ascii_lowercase),
    "print": ALPHABET,
    "punct": frozenset("._-"),
    "space": NONE,
    "upper": frozenset(ascii_uppercase),
    "word": WORD,
    "xdigit": _DIGITS | frozenset("abcdefABCDEF"),
}

_EMPTY_HERE: Final = """
    Lt Lm Lo M Mn Mc Me Nl No Ps Pe Pi Pf S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cs
    Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Han Hangul Hebrew Hiragana
    Inherited Katakana Khmer Lao Mongolian Myanmar Sinhala Tamil Telugu Thai Tibetan
"""

# General categories and scripts. Of the scripts, the two that ASCII belongs to, and those that
# people use; none of the others could match a topic.
UNICODE: Final[dict[str, CharSet]] = {
    "Any": ALPHABET,
    "L": _LETTERS,
    "Lu": frozenset(ascii_uppercase),
    "Ll": frozenset(ascii_lowercase),
    "N": _DIGITS,
    "Nd": _DIGITS,
    "P": frozenset("._-"),
    "Pc": frozenset("_"),
    "Pd": frozenset("-"),
    "Po": frozenset("."),
    "Latin": _LETTERS,
    "Common": ALPHABET - _LETTERS,
    **dict.fromkeys(_EMPTY_HERE.split(), NONE),
}


def between(first: str, last: str) -> CharSet:
    """The characters of a range, both ends included."""
    return frozenset(char for char in ALPHABET if first <= char <= last)


def fold(chars: CharSet) -> CharSet:
    """These characters in both cases."""
    return frozenset(case for char in chars for case in (char.lower(), char.upper()))
