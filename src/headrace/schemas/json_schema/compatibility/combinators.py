"""`allOf`, `anyOf`, `oneOf`, `not` and `if`: schemas made of schemas.

A product (`allOf`, and a `$ref` with keywords beside it) asks that each factor of the reader follow
from the writer. A sum (`anyOf`, `oneOf`) asks that each alternative of the writer be one of the
reader's. As in Confluent's registry an alternative may be added to `oneOf`, although it could
overlap another, and a combination is reported by the path of the schema that it stands in. A
negation turns the direction around.
"""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
)
from headrace.schemas.json_schema.compatibility.implied import (
    common_types,
    possible_types,
    products,
)
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.text import compact_sorted

_SUMS = ("anyOf", "oneOf")


def compare_combinators(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    """Differences in all combinators."""
    found = _compare_products(comparison, writer, reader, path)
    for keyword in _SUMS:
        found += _compare_sum(comparison, writer, reader, keyword, path)
    found += [
        Difference("PRODUCT_TYPE_NARROWED", path, writer.get(keyword))
        for keyword in _SUMS
        if writer.get(keyword) and not any(reader.get(each) for each in _SUMS)
    ]
    found += _compare_negation(comparison, writer, reader, path)
    return found + _compare_condition(comparison, writer, reader, path)


def _compare_products(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    before, after = products(writer), products(reader)
    at = (*path, "allOf")
    if len(after) == 1 and len(before) <= 1:
        one = comparison.compare(before[0] if before else writer, after[0], (*at, "0"))
        return [] if before and comparison.fits(writer, after[0], (*at, "0")) else one
    found: list[Difference] = []
    unproven = []
    for index, factor in enumerate(after):
        candidates = [*before[index : index + 1], *before, writer]
        if not any(comparison.fits(each, factor, (*at, str(index))) for each in candidates):
            unproven.append(factor)
            if index < len(before):
                found += comparison.compare(before[index], factor, (*at, str(index)))
    if unproven:
        kind = "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
        if len(after) > len(before):
            kind = "PRODUCT_TYPE_EXTENDED"
        found.append(Difference(kind, path, _schemas(before), _schemas(unproven)))
    elif len(after) < len(before):
        found.append(Difference("PRODUCT_TYPE_NARROWED", path, _schemas(before), _schemas(after)))
    return found


def _compare_sum(
    comparison: Comparison, writer: Node, reader: Node, keyword: str, path: Path
) -> list[Difference]:
    after = reader.subs(keyword)
    if not after:
        return []
    at = (*path, keyword)
    counterpart = next((each for each in (keyword, *_SUMS) if writer.subs(each)), None)
    if counterpart is None:
        return _compare_with_sum(comparison, writer, after, at)
    before = writer.subs(counterpart)
    found: list[Difference] = []
    if counterpart != keyword:
        sides = writer.get(counterpart), reader.get(keyword)
        if keyword == "oneOf" and len(before) > 1 and len(after) > 1:
            return [Difference("COMBINED_TYPE_CHANGED", path, *sides)]
        found.append(Difference("COMBINED_TYPE_EXTENDED", path, *sides))
    if len(before) == len(after) == 1:
        return [*found, *comparison.compare(before[0], after[0], (*at, "0"))]
    return found + _compare_alternatives(comparison, before, after, at)


def _compare_alternatives(
    comparison: Comparison, before: list[Node], after: list[Node], at: Path
) -> list[Difference]:
    """Each alternative of the writer must be one of the reader's."""
    same = {_fingerprint(each) for each in after} - {None}
    lost = [
        each
        for index, each in enumerate(before)
        if _fingerprint(each) not in same
        and not _fits_any(comparison, each, _nearest_first(after, index), at)
    ]
    sides = _schemas(lost or before), _schemas(after)
    found = []
    if len(after) > len(before):
        found.append(Difference("SUM_TYPE_EXTENDED", at[:-1], *sides))
    if lost:
        shrank = len(after) < len(before)
        kind = "SUM_TYPE_NARROWED" if shrank else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
        found.append(Difference(kind, at[:-1], *sides))
    return found


def _compare_with_sum(
    comparison: Comparison, writer: Node, after: list[Node], at: Path
) -> list[Difference]:
    """A reader with alternatives where the writer has none."""
    if len(after) == 1:
        return comparison.compare(writer, after[0], (*at, "0"))
    sides = writer.schema, _schemas(after)
    if _fits_any(comparison, writer, after, at):
        return [Difference("SUM_TYPE_EXTENDED", at[:-1], *sides)]
    types = possible_types(comparison, writer)
    if len(types) > 1 and all(
        _fits_any(comparison, comparison.restricted(writer, each), after, at) for each in types
    ):
        return [Difference("SUM_TYPE_EXTENDED", at[:-1], *sides)]
    return [Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED", at[:-1], *sides)]


def _compare_negation(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    before, after = writer.sub("not"), reader.sub("not")
    at = (*path, "not")
    if after is None:
        return [] if before is None else [Difference("NOT_TYPE_NARROWED", at, before.schema)]
    if before is not None:
        found = comparison.compare(after, before, at)
        if not found:
            return []
        kind = "NOT_TYPE_NARROWED" if comparison.all_safe(found) else "NOT_TYPE_EXTENDED"
        return [Difference(kind, at, before.schema, after.schema)]
    refused = possible_types(comparison, after)
    if not common_types(possible_types(comparison, writer), refused):
        return []
    return [Difference("NOT_TYPE_EXTENDED", at, ABSENT, after.schema)]


def _compare_condition(
    comparison: Comparison, writer: Node, reader: Node, path: Path
) -> list[Difference]:
    before, after = _condition(writer), _condition(reader)
    at = (*path, "if")
    if after is None:
        return [] if before is None else [Difference("PRODUCT_TYPE_NARROWED", at, before.schema)]
    outcomes = [each for each in map(reader.sub, ("then", "else")) if each is not None]
    if before is None:
        if all(comparison.fits(writer, each, at) for each in outcomes):
            return []
        return [Difference("PRODUCT_TYPE_EXTENDED", at, ABSENT, after.schema)]
    if not (comparison.fits(before, after, at) and comparison.fits(after, before, at)):
        shown = before.schema, after.schema
        return [Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED", at, *shown)]
    found: list[Difference] = []
    for keyword in ("then", "else"):
        outcome = reader.sub(keyword)
        if outcome is not None:
            had = writer.sub(keyword) or writer
            found += comparison.compare(had, outcome, (*path, keyword))
    return found


def _condition(node: Node) -> Node | None:
    """An `if` without `then` and `else` asks for nothing."""
    has_outcome = node.get("then") is not None or node.get("else") is not None
    return node.sub("if") if has_outcome and "if" in node.draft.assertions else None


def _fits_any(comparison: Comparison, writer: Node, readers: list[Node], at: Path) -> bool:
    if comparison.is_exhausted:
        return False
    return any(comparison.fits(writer, each, at) for each in readers)


def _nearest_first(members: list[Node], index: int) -> list[Node]:
    return [*members[index : index + 1], *members]


def _fingerprint(node: Node) -> str | None:
    """Equal for members that are the same in both documents; None where references could differ."""
    text = compact_sorted(node.schema)
    return None if any(f'"{each}"' in text for each in node.draft.references) else text


def _schemas(nodes: list[Node]) -> list[object]:
    return [each.schema for each in nodes]
