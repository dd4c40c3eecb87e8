"""The loggers of this process, with the levels that Connect has for them.

A level is set for a logger and for all below it, so that none of them keeps one of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from headrace.pipelines.connect.herder.cluster import level_named
from headrace.runtime.clock import Clock

ROOT: Final = "root"
_NUMBERS: Final = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG // 2,
}


@dataclass(frozen=True, slots=True)
class Level:
    """What a logger lets pass, and when that was set; None: never since the start."""

    name: str
    modified_ms: int | None


class Loggers:
    """All of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._modified_ms: dict[str, int] = {}

    def levels(self) -> dict[str, Level]:
        """Every logger that there is, by name."""
        return {name: self._level(name, logger) for name, logger in sorted(_all())}

    def level(self, name: str) -> Level | None:
        """The level of a logger; None if there is none of that name."""
        return self.levels().get(name)

    def set_level(self, name: str, level: str) -> list[str]:
        """Set a logger and those below it; returns the names of those that had another level."""
        number = _NUMBERS[level_named(level)]
        if name != ROOT:
            logging.getLogger(name)
        changed = [
            (each, logger)
            for each, logger in sorted(_all())
            if (name in (ROOT, each) or each.startswith(f"{name}."))
            and logger.getEffectiveLevel() != number
        ]
        for each, logger in changed:
            logger.setLevel(number)
            self._modified_ms[each] = self._clock.now_ms()
        return [each for each, _ in changed]

    def _level(self, name: str, logger: logging.Logger) -> Level:
        number = logger.getEffectiveLevel()
        known = [level for level, least in _NUMBERS.items() if number >= least]
        return Level(known[0] if known else "TRACE", self._modified_ms.get(name))


def _all() -> Iterator[tuple[str, logging.Logger]]:
    yield ROOT, logging.getLogger()
    for name, logger in list(logging.Logger.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger):
            yield name, logger
