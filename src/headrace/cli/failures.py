"""Why a command could not do its work, as one line for a person: the cause, then the remedy.

Everything that a user can cause arrives at `main` as a `Failure`; anything else is a fault of ours
and shows its type. The module refuses to know any client library or terminal.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Final

from headrace.errors import HeadraceError

DEBUG: Final = ContextVar("debug", default=False)
"""Whether everything is to be shown, as `--debug` asks."""
FAILED = 1
WRONG_USAGE = 2


class Failure(HeadraceError):
    """The command was understood and did not succeed."""

    exit_code = FAILED

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause}; {remedy}" if remedy else cause)
        self.cause = cause
        self.remedy = remedy


class WrongUsage(Failure):
    """The command cannot be understood, or asks for things that exclude each other."""

    exit_code = WRONG_USAGE


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """`did you mean "orders"?`, or the empty string when nothing is close."""
    # Imported here: only a command that has already failed pays for it.
    from difflib import get_close_matches

    close = get_close_matches(wrong, list(known), n=3, cutoff=0.6)
    if not close:
        return ""
    return "did you mean " + " or ".join(f'"{name}"' for name in close) + "?"
