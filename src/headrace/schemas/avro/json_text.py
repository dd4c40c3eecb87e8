"""JSON as Jackson reads and writes it, which is what Avro's Java library prints schemas with.

The registry compares texts, and clients in Java compare them as well, so a double or a control
character must be spelt the same way here. Comments are allowed when reading, as they are there.
"""

from __future__ import annotations

import json
import math
import re
from typing import Final, NoReturn

from headrace.schemas.avro.schema import Json
from headrace.schemas.model import InvalidSchema

_STRING_OR_COMMENT: Final = re.compile(
    r'"(?:[^"\\]|\\.)*+"|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/', re.DOTALL
)
_CONTROL: Final = re.compile(r"\\u00[01][0-9a-f]")
_PLAIN_FROM: Final = 1e-3
_PLAIN_BELOW: Final = 1e7
"""Java writes doubles outside of these bounds with an exponent."""


def read(text: str) -> Json:
    """Parse JSON, with comments; InvalidSchema says where it goes wrong."""
    try:
        return _loads(text)
    except ValueError as first:
        bare = _without_comments(text)
        if bare != text:
            try:
                return _loads(bare)
            except ValueError:
                pass
        raise InvalidSchema(f"The schema is not valid JSON: {first}") from None
    except RecursionError:
        raise InvalidSchema("The schema is not usable: its JSON is nested too deeply") from None


def write(value: Json, *, sort_keys: bool = False) -> str:
    """The compact text of any JSON value."""
    if isinstance(value, str):
        return write_string(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else "true" if value else "false"
    if isinstance(value, float):
        return write_double(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(write(item, sort_keys=sort_keys) for item in value) + "]"
    entries = sorted(value.items()) if sort_keys else value.items()
    inner = (f"{write_string(key)}:{write(item, sort_keys=sort_keys)}" for key, item in entries)
    return "{" + ",".join(inner) + "}"


def write_string(text: str) -> str:
    """A string in quotes; Jackson writes the digits of control characters in capitals."""
    quoted = json.dumps(text, ensure_ascii=False)
    if "\\u" in quoted:
        quoted = _CONTROL.sub(lambda found: "\\u" + found[0][2:].upper(), quoted)
    return quoted


def write_double(value: float) -> str:
    """A double as Java's `Double.toString` spells it: 1.0E10, 1.0E-5, 100.0."""
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f'"{name}"'
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    sign = "-" if value < 0 else ""
    digits, exponent = _shortest(abs(value))
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _shortest(value: float) -> tuple[str, int]:
    """The shortest digits that give `value` back, and the exponent of the first one."""
    mantissa, _, exponent = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    digits = whole + ("" if fraction == "0" else fraction)
    stripped = digits.lstrip("0")
    power -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", power


def _loads(text: str) -> Json:
    value: Json = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    return value


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value; write it as a string")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text[:40]} is too large for a double")
    return value


def _without_comments(text: str) -> str:
    return _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
