"""Properties that no name declares: patterns, and the rest.

Each name that the writer may send is decided by the patterns that match it, or by the rest. The
same must hold for the reader, so a pattern of the reader meets everything of the writer that could
match it, and a pattern that the reader lacks meets the reader's rest.
"""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.comparison import (
    ABSENT,
    Comparison,
    Difference,
    Path,
)
from headrace.schemas.json_schema.compatibility.content_model import (
    Content,
    Openness,
    openness_of,
)


def compare_other_properties(
    comparison: Comparison, before: Content, after: Content, path: Path
) -> list[Difference]:
    """Differences in the patterns, in the rest, and in what members of the writer declare."""
    found: list[Difference] = []
    for pattern, schema in after.patterns.items():
        at = (*path, "patternProperties", pattern)
        if pattern in before.patterns:
            found += comparison.compare(before.patterns[pattern], schema, at)
        elif not _all_fit(comparison, before, after, pattern, at):
            found.append(Difference("ADDITIONAL_PROPERTIES_NARROWED", at, ABSENT, schema.schema))
    for pattern, schema in before.patterns.items():
        at = (*path, "patternProperties", pattern)
        if pattern not in after.patterns and not comparison.fits(schema, after.rest, at):
            step = "REMOVED" if openness_of(after.rest) is Openness.CLOSED else "NARROWED"
            found.append(Difference(f"ADDITIONAL_PROPERTIES_{step}", at, schema.schema))
    found += _compare_rest(comparison, before, after, path)
    return found + _compare_exempt(comparison, before, after, path)


def _all_fit(
    comparison: Comparison, before: Content, after: Content, pattern: str, at: Path
) -> bool:
    """Whether what the writer sends under such a name fits; lost names are reported apart."""
    schema = after.patterns[pattern]
    named = [
        each
        for name, each in before.properties.items()
        if name in after.properties and comparison.matches(pattern, name)
    ]
    others = [*before.patterns.values(), before.rest]
    return all(comparison.fits(each, schema, at) for each in (*named, *others))


def _compare_rest(
    comparison: Comparison, before: Content, after: Content, path: Path
) -> list[Difference]:
    had, has = openness_of(before.rest), openness_of(after.rest)
    keyword = before.rest_keyword if has is Openness.OPEN else after.rest_keyword
    prefix = (
        "UNEVALUATED_PROPERTIES" if keyword == "unevaluatedProperties" else "ADDITIONAL_PROPERTIES"
    )
    at = (*path, keyword)
    if had is has is Openness.PARTIALLY_OPEN:
        return comparison.compare(before.rest, after.rest, at)
    if had is has:
        return []
    if had is Openness.CLOSED:
        step = "ADDED"
    elif has is Openness.CLOSED:
        step = "REMOVED"
    else:
        step = "EXTENDED" if has is Openness.OPEN else "NARROWED"
    return [Difference(f"{prefix}_{step}", at, before.rest.schema, after.rest.schema)]


def _compare_exempt(
    comparison: Comparison, before: Content, after: Content, path: Path
) -> list[Difference]:
    """What members of the writer declare under its `unevaluatedProperties` the reader must take."""
    if openness_of(after.rest) is Openness.OPEN:
        return []
    allowed = after.surely_exempt
    at = (*path, after.rest_keyword)
    if allowed.is_everything or before.exempt == allowed:
        return []
    if before.exempt.is_everything or not before.exempt.patterns <= allowed.patterns:
        return [Difference("UNEVALUATED_PROPERTIES_REMOVED", at, ABSENT, after.rest.schema)]
    return [
        Difference("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", (*path, "properties", name))
        for name in sorted(before.exempt.listed - after.properties.keys())
        if not allowed.may_include(comparison, name)
        and not any(comparison.matches(pattern, name) for pattern in after.patterns)
    ]
