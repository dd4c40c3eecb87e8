"""Java's conversions between numbers, and its readings of numbers as text.

Integers wrap around, floats are cut off and held within bounds, NaN is 0.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from typing import Final

from headrace.pipelines.connect.model.java_text import float32_of, to_float32

_INTEGER: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_HEX: Final = re.compile(
    r"[+-]?0[xX]([0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?"
)
_BLANKS: Final = "".join(map(chr, range(0x21)))
_WORDS: Final = {"NaN": math.nan, "Infinity": math.inf}
_INT_BITS: Final = 32
_LONG_BITS: Final = 64


class NotANumber(ValueError):
    """Java's NumberFormatException."""


def wrapped(value: int, bits: int) -> int:
    """The lowest bits of an integer."""
    half = 1 << bits - 1
    return (value + half) % (1 << bits) - half


def integer_of(value: float | Decimal, bits: int) -> int:
    """A number of any kind as an integer of so many bits."""
    if isinstance(value, int):
        return wrapped(value, bits)
    if isinstance(value, Decimal):
        return wrapped(int(value), bits)
    if math.isnan(value):
        return 0
    most = (1 << max(bits, _INT_BITS) - 1) - 1
    return wrapped(int(min(max(value, -most - 1), most)), bits)


def double_of(value: float | Decimal) -> float:
    """A number of any kind as a double."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def float_of(value: float | Decimal) -> float:
    """A number of any kind as a float of 32 bits."""
    return to_float32(value) if isinstance(value, float) else float32_of(Decimal(value))


def is_not_zero(value: float | Decimal) -> bool:
    """Whether anything is left of a number as a long."""
    return integer_of(value, _LONG_BITS) != 0


def parsed_integer(text: str, bits: int) -> int:
    """`Long.parseLong` and its narrower kin."""
    if _INTEGER.fullmatch(text) is None or not all(ord(char) < 0x10000 for char in text):
        raise NotANumber(text)
    value = int(text)
    if wrapped(value, bits) != value:
        raise NotANumber(text)
    return value


def parsed_double(text: str) -> float:
    """`Double.parseDouble`."""
    exact = _parsed(text)
    return exact if isinstance(exact, float) else float(exact)


def parsed_float(text: str) -> float:
    """`Float.parseFloat`."""
    exact = _parsed(text)
    return to_float32(exact) if isinstance(exact, float) else float32_of(exact)


def _parsed(text: str) -> Decimal | float:
    plain = text.strip(_BLANKS)
    unsigned = plain.lstrip("+-") if plain[1:2] not in ("+", "-") else plain
    if unsigned in _WORDS:
        return math.copysign(_WORDS[unsigned], -1) if plain[0] == "-" else _WORDS[unsigned]
    if _HEX.fullmatch(plain):
        return float.fromhex(plain.rstrip("fFdD") if plain[-1] in "fFdD" else plain)
    number = plain[:-1] if plain[-1:] in tuple("fFdD") else plain
    if _DECIMAL.fullmatch(number) is None:
        raise NotANumber(text)
    try:
        return Decimal(number)
    except InvalidOperation:
        return float(number)  # an exponent beyond what decimals have


def parsed_decimal(text: str) -> Decimal:
    """`new BigDecimal`."""
    if _DECIMAL.fullmatch(text) is None:
        raise NotANumber(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise NotANumber(text) from None
