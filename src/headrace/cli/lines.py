"""Lines for a person from several processes at once: a line and its end are one write.

`print` writes the text and the line's end apart where Python does not buffer (PYTHONUNBUFFERED, as
in most containers), so that lines of two processes on one terminal would run into each other.
"""

from __future__ import annotations

import sys


def counted(number: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say(text: str) -> None:
    """One line on standard output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def warn(text: str) -> None:
    """One line on standard error, in the name of the command."""
    sys.stderr.write(f"headrace: {text}\n")
    sys.stderr.flush()
