"""Keywords that apply to numbers.

Draft 4 writes an exclusive limit as a boolean beside `maximum`; both spellings become the same four
limits here. A limit of the reader that follows from the writer's other spelling is no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headrace.schemas.json_schema.compatibility.bounds import Number, at_most, compare_bound
from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
)
from headrace.schemas.json_schema.compatibility.implied import possible_types
from headrace.schemas.json_schema.documents import Node


@dataclass(frozen=True, slots=True)
class _Limits:
    maximum: Number | None
    exclusive_maximum: Number | None
    minimum: Number | None
    exclusive_minimum: Number | None


def compare_numbers(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Differences in the limits and in `multipleOf`."""
    before, after = _limits(writer), _limits(reader)
    found: list[Difference] = []
    if not _implies_maximum(before, after):
        found += compare_bound(path, "maximum", "MAXIMUM", before.maximum, after.maximum)
    if not _implies_exclusive_maximum(before, after):
        pair = before.exclusive_maximum, after.exclusive_maximum
        found += compare_bound(path, "exclusiveMaximum", "EXCLUSIVE_MAXIMUM", *pair)
    if not _implies_minimum(before, after):
        found += compare_bound(path, "minimum", "MINIMUM", before.minimum, after.minimum)
    if not _implies_exclusive_minimum(before, after):
        pair = before.exclusive_minimum, after.exclusive_minimum
        found += compare_bound(path, "exclusiveMinimum", "EXCLUSIVE_MINIMUM", *pair)
    integers = possible_types(comparison, writer) & {"integer", "number"} == {"integer"}
    return found + _compare_multiples(writer, reader, path, integers=integers)


def _limits(node: Node) -> _Limits:
    maximum, minimum = at_most(node.get("maximum")), at_most(node.get("minimum"))
    above, below = node.get("exclusiveMaximum"), node.get("exclusiveMinimum")
    if not node.draft.boolean_exclusive:
        return _Limits(maximum, at_most(above), minimum, at_most(below))
    return _Limits(
        maximum=None if above is True else maximum,
        exclusive_maximum=maximum if above is True else None,
        minimum=None if below is True else minimum,
        exclusive_minimum=minimum if below is True else None,
    )


def _implies_maximum(before: _Limits, after: _Limits) -> bool:
    limit = before.exclusive_maximum
    return after.maximum is not None and limit is not None and limit <= after.maximum


def _implies_exclusive_maximum(before: _Limits, after: _Limits) -> bool:
    limit, bound = before.maximum, after.exclusive_maximum
    return bound is not None and limit is not None and limit < bound


def _implies_minimum(before: _Limits, after: _Limits) -> bool:
    limit = before.exclusive_minimum
    return after.minimum is not None and limit is not None and limit >= after.minimum


def _implies_exclusive_minimum(before: _Limits, after: _Limits) -> bool:
    limit, bound = before.minimum, after.exclusive_minimum
    return bound is not None and limit is not None and limit > bound


def _compare_multiples(
    writer: Node, reader: Node, path: Path, *, integers: bool
) -> list[Difference]:
    before, after = _multiple(writer), _multiple(reader)
    if before == after:
        return []
    at = (*path, "multipleOf")
    if after is None:
        return [Difference("MULTIPLE_OF_REMOVED", at, writer.get("multipleOf"), ABSENT)]
    if before is None:
        if integers and (1 / after).denominator == 1:
            return []
        return [Difference("MULTIPLE_OF_ADDED", at, ABSENT, reader.get("multipleOf"))]
    if (before / after).denominator == 1:
        kind = "MULTIPLE_OF_REDUCED"
    elif (after / before).denominator == 1:
        kind = "MULTIPLE_OF_EXPANDED"
    else:
        kind = "MULTIPLE_OF_CHANGED"
    return [Difference(kind, at, writer.get("multipleOf"), reader.get("multipleOf"))]


def _multiple(node: Node) -> Fraction | None:
    """Read as decimal text: 0.1 means a tenth, not the nearest binary number."""
    value = node.get("multipleOf")
    return Fraction(str(value)) if isinstance(value, (int, float)) and value > 0 else None
