"""Where a share group begins to read: `earliest`, `latest`, or `by_duration:` and an ISO 8601 time.

Durations are those of Java's `Duration.parse`: days, hours, minutes, seconds and their fractions.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.cluster.config_types import Allowed

BY_DURATION: Final = "by_duration:"

_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d+)D)?"
    r"(?P<time>T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_UNITS_MS: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


def duration_ms(text: str) -> int | None:
    """The length of an ISO 8601 duration; None if the text is none, or a negative one."""
    match = _DURATION.fullmatch(text)
    if match is None or text.upper() == "P" or text.upper().endswith("T"):
        return None
    return sum(
        int(float(number) * _UNITS_MS[unit])
        for unit, number in match.groupdict().items()
        if unit in _UNITS_MS and number is not None
    )


def _is_reset(text: str) -> bool:
    if text.startswith(BY_DURATION):
        return duration_ms(text.removeprefix(BY_DURATION)) is not None
    return text in ("earliest", "latest")


OFFSET_RESET: Final = Allowed(
    "earliest, latest or by_duration:PnDTnHnMn.nS, which must not be negative", _is_reset
)
