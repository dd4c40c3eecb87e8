"""Plain data as YAML: mappings, lists and scalars, block style, two spaces.

A few lines instead of a dependency, because only writing is needed. Every scalar that YAML could
read as anything but the same value is written as a JSON string, which YAML accepts as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
# What YAML 1.1 or 1.2 reads as a boolean or as nothing.
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def dump(data: object) -> str:
    """The document, ending in a newline."""
    return "\n".join(_lines(data)) + "\n"


def _lines(data: object) -> Iterator[str]:
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from _entry(f"{_scalar(str(key))}:", value)
    elif isinstance(data, list | tuple) and data:
        for item in data:
            nested = _lines(item)
            yield f"- {next(nested)}"
            yield from (f"  {line}" for line in nested)
    else:
        yield _scalar(data)


def _entry(key: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple) and value:
        yield key
        yield from (f"  {line}" for line in _lines(value))
    else:
        yield f"{key} {_scalar(value)}"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
            return value
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool | int | float) or not value:
        return json.dumps(value)
    raise TypeError(f"{type(value).__name__} has no form in YAML here")
