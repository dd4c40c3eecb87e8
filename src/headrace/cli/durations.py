"""Lengths of time as a person writes them: `15m`, or `P1DT2H3M4S` as ISO 8601 has it."""

from __future__ import annotations

import re
from typing import Final

from headrace.cli.failures import WrongUsage

_SHORT = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)")
_ISO = re.compile(
    r"P(?=[0-9T])(?:([0-9]{1,9})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9}(?:\.[0-9]{1,3})?)S)?)?"
)
_UNIT_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_duration_ms(text: str, option: str) -> int:
    """Milliseconds, or a usage error that shows both forms."""
    if short := _SHORT.fullmatch(text):
        return int(short[1]) * _UNIT_MS[short[2]]
    if iso := _ISO.fullmatch(text.upper()):
        days, hours, minutes = (int(part or 0) for part in iso.groups()[:3])
        seconds_ms = round(float(iso[4] or 0) * 1000)
        return days * _UNIT_MS["d"] + hours * _UNIT_MS["h"] + minutes * _UNIT_MS["m"] + seconds_ms
    raise WrongUsage(
        f'{option} "{text}" is not a length of time', "write for example 15m, 2h, 7d or PT1H30M"
    )


def show_duration(milliseconds: int) -> str:
    """The two largest units: `2d 3h`, `15m`, `0s`."""
    seconds = milliseconds // 1000
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2]) or "0s"
