"""What every Python process that Spark keeps for tasks should do once."""

from __future__ import annotations

import gc
from functools import cache


@cache
def freeze_once() -> None:
    """Take what is loaded by now out of the sight of the garbage collector.

    Spark's daemon collects garbage after each task. With the libraries of a worker, or of a process
    that plans a stream, that visit takes longer than a small task does.
    """
    gc.collect()
    gc.freeze()
