"""JSON as text: read within limits, and written in the forms that the registry stores.

Python's parser takes `NaN`, numbers that overflow and lone surrogates, which no other reader of
the stored text would take; they are refused here, before anything depends on them.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from headrace.schemas.model import MAX_DEPTH


class NotJson(ValueError):
    """The text is not JSON, or nests too deeply; the message says which, and where."""


def load(text: str) -> Any:
    """The value that a JSON text stands for."""
    try:
        text.encode()
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except NotJson:
        raise
    except RecursionError:
        raise NotJson(_TOO_DEEP) from None
    except UnicodeEncodeError as error:
        raise NotJson(f"a lone surrogate at character {error.start} is not Unicode text") from None
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at line {error.lineno} column {error.colno}") from None
    except ValueError as error:  # an integer with thousands of digits
        raise NotJson(str(error)) from None
    if is_deeper_than(value, MAX_DEPTH):
        raise NotJson(_TOO_DEEP)
    if _ESCAPED_SURROGATE.search(text):
        try:
            compact(value).encode()
        except UnicodeEncodeError:
            raise NotJson("an escaped surrogate without its other half is not Unicode") from None
    return value


def compact(value: object) -> str:
    """The text with no space between tokens, keys in the order in which they came."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def compact_sorted(value: object) -> str:
    """The compact text with the keys of every object in order."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=True
    )


def comparable_text(value: object) -> str:
    """A text that is equal for values that JSON Schema calls equal: it takes 1.0 for 1."""
    return compact_sorted(_with_whole_numbers(value))


def is_deeper_than(value: object, limit: int) -> bool:
    """Whether arrays and objects nest more than `limit` levels; never recursive itself."""
    level = [value]
    for _ in range(limit + 1):
        below: list[object] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(each.values())
            elif isinstance(each, (list, tuple)):
                below.extend(each)
        if not below:
            return False
        level = below
    return any(isinstance(each, (dict, list, tuple)) for each in level)


_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_DEEP = f"it nests deeper than {MAX_DEPTH} levels"


def _refuse_constant(name: str) -> Any:
    raise NotJson(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise NotJson(f"the number {digits[:40]} is out of range")
    return number


def _with_whole_numbers(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _with_whole_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(each) for each in value]
    return value
