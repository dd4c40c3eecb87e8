"""Where in a topic to begin and to stop, as a person writes it.

    beginning     the first record that is still there
    end           behind the newest record
    1234          that offset
    -10           the last ten of each partition
    @17…000       the first record at or after these milliseconds
    @-15m         the first record of the last quarter of an hour (s, m, h, d)
    2026-05-01    an ISO 8601 date or time, UTC if it names no zone

The module refuses to know a client; `consume` turns a position into offsets.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

from headrace.cli.failures import WrongUsage


class Kind(Enum):
    BEGINNING = "beginning"
    END = "end"
    OFFSET = "offset"
    TAIL = "tail"
    TIME = "time"


class Position(NamedTuple):
    """`number` is an offset, a count for TAIL, or epoch milliseconds for TIME."""

    kind: Kind
    number: int = 0


_AGO = re.compile(r"@-([0-9]{1,9})([smhd])")
_UNIT_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_MAX_OFFSET: Final = 2**63 - 1


def parse_position(text: str, *, now_ms: int) -> Position:
    """The position, or a usage error that shows what can be written."""
    if text in ("beginning", "end"):
        return Position(Kind(text))
    if re.fullmatch(r"-?[0-9]{1,19}", text) and (number := abs(int(text))) <= _MAX_OFFSET:
        return Position(Kind.TAIL if text[0] == "-" else Kind.OFFSET, number)
    return Position(Kind.TIME, parse_time(text, now_ms=now_ms))


def parse_time(text: str, *, now_ms: int) -> int:
    """Epoch milliseconds of `@ms`, `@-15m` or an ISO 8601 date."""
    if ago := _AGO.fullmatch(text):
        return max(now_ms - int(ago[1]) * _UNIT_MS[ago[2]], 0)
    if re.fullmatch(r"@[0-9]{1,18}", text):
        return int(text[1:])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUsage(
            f'"{text}" is not a position',
            "write beginning, end, an offset, -N for the last N, @MILLISECONDS, @-15m or a date "
            "such as 2026-05-01T10:00:00Z",
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)
