"""The difference of two JSON documents in the terms of a schema: what was added, removed, changed.

Members meet by their keys. Items of a list meet by their `name` where they have one (the fields of
a record, the branches of a union), by their value where they are plain (the symbols of an enum),
and by their place otherwise. The module knows nothing of any schema format besides that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class Change(NamedTuple):
    """`change` is added, removed, changed or reordered; a line of text has no path."""

    change: str
    path: str
    before: Any
    after: Any


def changes(before: Any, after: Any, path: str = "") -> list[Change]:
    """Everything that differs, in the order of the newer document."""
    return list(_walk(before, after, path))


def _walk(before: Any, after: Any, path: str) -> Iterator[Change]:
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _walk_members(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _walk_items(before, after, path)
    elif before is None:
        yield Change("added", path or "/", None, after)
    elif after is None:
        yield Change("removed", path or "/", before, None)
    else:
        yield Change("changed", path or "/", before, after)


def _walk_members(before: dict[str, Any], after: dict[str, Any], path: str) -> Iterator[Change]:
    for key in before.keys() - after.keys():
        yield Change("removed", f"{path}/{key}", before[key], None)
    for key, value in after.items():
        if key in before:
            yield from _walk(before[key], value, f"{path}/{key}")
        else:
            yield Change("added", f"{path}/{key}", None, value)


def _walk_items(before: list[Any], after: list[Any], path: str) -> Iterator[Change]:
    old, new = _by_label(before), _by_label(after)
    if old is None or new is None:
        for index in range(max(len(before), len(after))):
            old_item = before[index] if index < len(before) else None
            new_item = after[index] if index < len(after) else None
            yield from _walk(old_item, new_item, f"{path}/{index}")
        return
    for label, value in old.items():
        if label not in new:
            yield Change("removed", f"{path}/{label}", value, None)
    for label, value in new.items():
        if label in old:
            yield from _walk(old[label], value, f"{path}/{label}")
        else:
            yield Change("added", f"{path}/{label}", None, value)
    kept_old = [label for label in old if label in new]
    kept_new = [label for label in new if label in old]
    if kept_old != kept_new:
        yield Change("reordered", path or "/", kept_old, kept_new)


def _by_label(items: Sequence[Any]) -> dict[str, Any] | None:
    """Items by what they are called; None if they have no names, or not one each."""
    labels = {}
    for item in items:
        if isinstance(item, dict):
            label = item.get("name")
        else:
            label = None if isinstance(item, list) else str(item)
        if not isinstance(label, str) or label in labels:
            return None
        labels[label] = item
    return labels


def line_changes(before: str, after: str) -> list[Change]:
    """Lines that were removed and added; lines that stayed are left out."""
    # Imported here: only a comparison of texts pays for it.
    from difflib import ndiff

    found = []
    for line in ndiff(before.splitlines(), after.splitlines()):
        sign, text = line[:2], line[2:]
        if sign == "- ":
            found.append(Change("removed", "", text, None))
        elif sign == "+ ":
            found.append(Change("added", "", None, text))
    return found
