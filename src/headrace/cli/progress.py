"""A progress bar when a person watches, nothing at all when nobody does.

It draws on stderr, so that standard output stays clean for pipes; `rich` is loaded only for a
terminal.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """Use as a context manager; `update` takes the number done so far."""

    def __init__(self, title: str, total: int | None, *, watched: bool | None = None) -> None:
        self._title = title
        self._total = total
        # Whoever types records into a terminal does not want a bar under the fingers.
        self._watched = (
            sys.stderr.isatty() and not sys.stdin.isatty() if watched is None else watched
        )
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._watched:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._title, total=self._total)
            self._bar.start()
        return self

    def update(self, done: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done)

    def __exit__(self, *_raised: object) -> None:
        if self._bar is not None:
            self._bar.stop()
