"""What a check says: one line, and a remedy where something is wrong."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    OK = "OK"
    WARN = "WARN"
    FAIL = "FAIL"


class Finding(NamedTuple):
    """One line. `subject` is what was checked: an address, a folder, a limit."""

    level: Level
    subject: str
    text: str
    remedy: str = ""


def ok(subject: str, text: str) -> Finding:
    return Finding(Level.OK, subject, text)


def warn(subject: str, text: str, remedy: str) -> Finding:
    return Finding(Level.WARN, subject, text, remedy)


def fail(subject: str, text: str, remedy: str) -> Finding:
    return Finding(Level.FAIL, subject, text, remedy)
