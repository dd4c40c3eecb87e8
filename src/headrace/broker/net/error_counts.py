"""Which errors a response carries, counted by code that is written for its class on first use.

Every `error_code` of a response counts, at whatever depth: one for each partition of a produce, one
for each topic that was to be created. No error, 0, counts too, as it does in Kafka. The throttle
time is told by the way, because it stands in the same place of most responses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from headrace.wire.schema import fields_of

_FIELD: Final = "error_code"
_THROTTLE: Final = "throttle_time_ms"
_INDENT: Final = "    "


ErrorCounter = Callable[[object, Counter[int]], int]


def error_counter(response: type) -> ErrorCounter:
    """A function that adds the error codes of a response of this class to a counter, and returns
    the throttle time in milliseconds that the response tells.
    """
    is_told = any(field.name == _THROTTLE for field in fields_of(response))
    lines = list(_counting(response, "response", _INDENT))
    lines.append(f"{_INDENT}return {f'response.{_THROTTLE}' if is_told else 0}")
    names: dict[str, ErrorCounter] = {}
    exec("\n".join(["def count(response, errors):", *lines]), names)
    return names["count"]


def _counting(struct: type, name: str, indent: str) -> Iterator[str]:
    for field in fields_of(struct):
        if field.name == _FIELD:
            yield f"{indent}errors[{name}.{_FIELD}] += 1"
        elif isinstance(field.kind, type) and field.is_array:
            item = f"{name}_{field.name}"
            inner = list(_counting(field.kind, item, indent + _INDENT))
            if inner:
                yield f"{indent}for {item} in {name}.{field.name} or ():"
                yield from inner
