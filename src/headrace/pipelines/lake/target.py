"""Where a writer's rows go: files, or a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from headrace.pipelines.lake.rows import Rows

Place: TypeAlias = tuple[str, int]
"""A partition of a topic."""


class Cut(Protocol):
    """What a partition has written since it last published; nobody sees it yet."""

    size: int
    """About how many bytes have been written."""

    def write(self, folder: str, rows: Rows) -> None:
        """Add rows to a folder."""

    def commit(self, first: int, following: int) -> None:
        """Publish everything at once: offsets `first` to before `following`."""

    def drop(self) -> None:
        """Let go of everything that is not published; raises nothing."""


class Target(Protocol):
    """Files of a file system, or a table; every method raises LakeFault."""

    def positions(self, places: Iterable[Place]) -> dict[Place, int]:
        """The offset behind the last published one, of partitions that have one. What a crash left
        half done is finished or taken back first."""

    def begin(self, place: Place) -> Cut:
        """A new cut."""

    def close(self) -> None:
        """Let go of everything."""
