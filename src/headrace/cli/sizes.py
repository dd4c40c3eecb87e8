"""Amounts of data as a person writes them: `1KB`, `64MiB`, `50MB/s`, `10Gbit/s`.

KB is a thousand bytes and KiB is 1024, as the standards have it.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.cli.failures import WrongUsage

_AMOUNT = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([kKMGTP]?)(i?)(B|b|bit|Bit)?(?:/s|ps)?")
_POWERS: Final = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_NAMES: Final = ("B", "KB", "MB", "GB", "TB", "PB")


def parse_bytes(text: str, option: str) -> int:
    """Bytes, or bytes per second; a number alone is bytes, `bit` is an eighth of one."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or (match[3] and not match[2]):
        raise WrongUsage(
            f'{option} "{text}" is not an amount of data', "write for example 1KB, 2TB or 10Gbit/s"
        )
    unit: int = (1024 if match[3] else 1000) ** _POWERS[match[2]]
    size = float(match[1]) * unit
    return round(size / 8 if match[4] in ("bit", "Bit", "b") else size)


def show_bytes(size: float) -> str:
    """Three digits and a unit: `3.02 TB`."""
    for name in _NAMES[:-1]:
        if abs(size) < 999.5:
            return f"{size:.3g} {name}"
        size /= 1000
    return f"{size:,.4g} {_NAMES[-1]}"
