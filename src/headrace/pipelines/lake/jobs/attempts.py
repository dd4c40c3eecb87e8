"""A unit that fails is tried again, unless trying again cannot help."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headrace.errors import HeadraceError
from headrace.pipelines.lake.faults import LakeFault

R = TypeVar("R")


def tried(attempts: int, work: Callable[[], R], hopeless: tuple[type[Exception], ...]) -> R:
    """What `work` gives; after this number of attempts its last fault."""
    for _ in range(attempts - 1):
        try:
            return work()
        except hopeless:
            raise
        except Exception:
            continue  # the last attempt reports what it fails for
    return work()


def told(fault: Exception) -> str:
    """A fault as one line; the kind of those that no message of ours explains."""
    if isinstance(fault, HeadraceError | LakeFault):
        return str(fault)
    return f"{type(fault).__name__}: {fault}"
