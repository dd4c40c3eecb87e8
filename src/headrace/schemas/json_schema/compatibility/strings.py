"""Keywords that apply to strings. `format` is an annotation and changes nothing."""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.bounds import at_least, at_most, compare_bound
from headrace.schemas.json_schema.compatibility.comparison import ABSENT, Difference, Path
from headrace.schemas.json_schema.documents import Node


def compare_strings(writer: Node, reader: Node, path: Path) -> list[Difference]:
    """Differences in length and pattern."""
    longest = at_most(writer.get("maxLength")), at_most(reader.get("maxLength"))
    shortest = at_least(writer.get("minLength")), at_least(reader.get("minLength"))
    found = compare_bound(path, "maxLength", "MAX_LENGTH", *longest)
    found += compare_bound(path, "minLength", "MIN_LENGTH", *shortest)
    before, after = writer.get("pattern"), reader.get("pattern")
    if before != after:
        at = (*path, "pattern")
        if before is None:
            found.append(Difference("PATTERN_ADDED", at, ABSENT, after))
        elif after is None:
            found.append(Difference("PATTERN_REMOVED", at, before, ABSENT))
        else:
            # Whether one expression includes another is not decided here.
            found.append(Difference("PATTERN_CHANGED", at, before, after))
    return found
