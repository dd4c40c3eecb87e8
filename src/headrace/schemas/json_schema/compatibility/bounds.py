"""Keywords that bound a number from above or below: lengths, counts, limits."""

from __future__ import annotations

from headrace.schemas.json_schema.compatibility.comparison import ABSENT, Difference, Path

Number = int | float


def compare_bound(
    path: Path, keyword: str, prefix: str, before: Number | None, after: Number | None
) -> list[Difference]:
    """The difference between two bounds, where None is no bound; `prefix` starts its kind."""
    if before == after:
        return []
    if before is None:
        step = "ADDED"
    elif after is None:
        step = "REMOVED"
    else:
        step = "INCREASED" if after > before else "DECREASED"
    old, new = (ABSENT if each is None else each for each in (before, after))
    return [Difference(f"{prefix}_{step}", (*path, keyword), old, new)]


def at_least(count: object) -> Number | None:
    """A lower bound on a count; zero asks for nothing."""
    return count if isinstance(count, (int, float)) and count > 0 else None


def at_most(count: object) -> Number | None:
    """An upper bound on a count."""
    return count if isinstance(count, (int, float)) and not isinstance(count, bool) else None
