"""How Java prints values: what its `toString` gives, which StringConverter and JSON write.

Numbers are printed as since Java 19, with the fewest digits that tell them from their neighbours;
older ones sometimes print more. Moments are printed in UTC. Knows nothing of converters.
"""

from __future__ import annotations

import codecs
import datetime
import math
from decimal import Decimal
from typing import Final

import numpy as np

from headrace.pipelines.connect.model.schema import EPOCH, Float32, Schema, Struct, Type


def double_text(value: float) -> str:
    """`Double.toString`."""
    if 1e-3 <= abs(value) < 1e7 or value == 0:
        return repr(float(value))
    if not math.isfinite(value):
        return _not_finite(value)
    digits, exponent = repr(float(abs(value))), 0
    if "e" not in digits:
        digits = f"{Decimal(digits):e}"
    mantissa, _, power = digits.partition("e")
    mantissa, exponent = mantissa.replace(".", "").rstrip("0"), int(power)
    if len(mantissa) == 1:  # of two digits the closest ones are printed
        digits, _, power = f"{abs(value):.1e}".partition("e")
        mantissa, exponent = digits.replace(".", ""), int(power)
    return _scientific(value < 0, mantissa, exponent)


def float_text(value: float) -> str:
    """`Float.toString` of a number that 32 bits hold."""
    if not math.isfinite(value):
        return _not_finite(value)
    narrow = np.float32(value)
    if 1e-3 <= abs(narrow) < 1e7 or narrow == 0:
        return np.format_float_positional(narrow, unique=True, trim="0")
    text = np.format_float_scientific(abs(narrow), unique=True, trim="-")
    mantissa, _, power = text.partition("e")
    if "." not in mantissa:
        mantissa, _, power = f"{abs(float(narrow)):.1e}".partition("e")
    return _scientific(bool(narrow < 0), mantissa.replace(".", ""), int(power))


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _scientific(negative: bool, digits: str, exponent: int) -> str:
    rest = digits[1:].rstrip("0") or "0"
    return f"{'-' if negative else ''}{digits[0]}.{rest}E{exponent}"


def decimal_text(value: Decimal) -> str:
    """`BigDecimal.toString`."""
    return str(value.copy_abs() if value.is_zero() else value)


def float32_of(number: Decimal) -> float:
    """The float of 32 bits that is nearest to a decimal, which is rounded once."""
    wide = float(number)
    with np.errstate(over="ignore"):
        narrow = np.float32(wide)
    if float(narrow) == wide or not np.isfinite(narrow):
        return float(narrow)
    with np.errstate(over="ignore"):
        other = np.nextafter(narrow, np.float32(math.inf if wide > float(narrow) else -math.inf))
    if not np.isfinite(other) or (float(narrow) + float(other)) / 2 != wide:
        return float(narrow)
    # Halfway between two floats, where the digits that the double has lost decide.
    exact = Decimal(wide)
    if number == exact:
        return float(narrow)
    return float(max(narrow, other) if number > exact else min(narrow, other))


def to_float32(value: float) -> float:
    """A double as a float of 32 bits, as Java's cast does it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.float32(value))


def _java_replaces(fault: UnicodeError) -> tuple[str, int]:
    """One U+FFFD for a surrogate in UTF-8, where Python has one for each of its bytes."""
    assert isinstance(fault, UnicodeDecodeError)
    data, at = fault.object, fault.start
    if data[at] != _SURROGATES or not 0xA0 <= int.from_bytes(data[at + 1 : at + 2], "big") <= 0xBF:
        return "\ufffd", fault.end
    whole = 0x80 <= int.from_bytes(data[at + 2 : at + 3], "big") <= 0xBF
    return "\ufffd", at + (3 if whole else 2)


_SURROGATES: Final = 0xED  # the first byte of those that hold half of a character
codecs.register_error("java", _java_replaces)


def utf8_text(data: bytes) -> str:
    """What `new String(bytes, UTF_8)` gives."""
    return data.decode("utf-8", "java")


_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)


def moment_of(value: datetime.date | datetime.time | datetime.datetime) -> datetime.datetime:
    """What `java.util.Date` holds for a day, a time of day or a moment."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC)
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(EPOCH, value, datetime.UTC)
    return datetime.datetime.combine(value, datetime.time(), datetime.UTC)


def date_text(value: datetime.date | datetime.time | datetime.datetime) -> str:
    """`java.util.Date.toString`."""
    at = moment_of(value)
    day, month = _DAYS[at.weekday()], _MONTHS[at.month - 1]
    return f"{day} {month} {at:%d %H:%M:%S} UTC {at.year:04d}"


def text_of(value: object, schema: Schema | None = None) -> str:
    """`String.valueOf`. The schema tells floats of 32 bits from wider ones; bytes are a buffer."""
    if isinstance(value, Struct):
        held = zip(value.schema.fields, value.values, strict=True)
        said = [f"{f.name}={text_of(v, f.schema)}" for f, v in held if v is not None]
        return f"Struct{{{','.join(said)}}}"
    if isinstance(value, dict):
        keys, items = (schema.keys, schema.values) if schema is not None else (None, None)
        said = [f"{text_of(k, keys)}={text_of(v, items)}" for k, v in value.items()]
        return f"{{{', '.join(said)}}}"
    if isinstance(value, list):
        items = None if schema is None else schema.values
        return f"[{', '.join(text_of(item, items) for item in value)}]"
    if isinstance(value, float):
        narrow = isinstance(value, Float32) or (schema and schema.type is Type.FLOAT32)
        return float_text(value) if narrow else double_text(value)
    return _plain_text(value)


def _plain_text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return decimal_text(value)
    if isinstance(value, bytes):
        return f"java.nio.HeapByteBuffer[pos=0 lim={len(value)} cap={len(value)}]"
    if isinstance(value, datetime.date | datetime.time):
        return date_text(value)
    return str(value)
