"""Positions as a person writes them."""

from __future__ import annotations

import pytest

from headrace.cli.failures import WrongUsage
from headrace.cli.positions import Kind, Position, parse_position, parse_time
from headrace.cli.ranges import place

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", Position(Kind.BEGINNING)),
        ("end", Position(Kind.END)),
        ("0", Position(Kind.OFFSET, 0)),
        ("9223372036854775807", Position(Kind.OFFSET, 2**63 - 1)),
        ("-10", Position(Kind.TAIL, 10)),
        ("@1700000000000", Position(Kind.TIME, 1_700_000_000_000)),
        ("@-15m", Position(Kind.TIME, NOW_MS - 900_000)),
        ("@-2d", Position(Kind.TIME, NOW_MS - 172_800_000)),
        ("2026-05-01", Position(Kind.TIME, 1_777_593_600_000)),
        ("2026-05-01T10:00:00Z", Position(Kind.TIME, 1_777_629_600_000)),
        ("2026-05-01T10:00:00+02:00", Position(Kind.TIME, 1_777_622_400_000)),
        ("2026-05-01T10:00:00", Position(Kind.TIME, 1_777_629_600_000)),
    ],
)
def test_each_form_is_understood(text: str, expected: Position) -> None:
    """Offsets, tails, times and the two ends; a time without a zone is UTC."""
    assert parse_position(text, now_ms=NOW_MS) == expected


@pytest.mark.parametrize(
    "text", ["", "start", "-", "1.5", "@", "@-5x", "99999999999999999999", "٣"]
)
def test_anything_else_is_refused_with_what_can_be_written(text: str) -> None:
    """The complaint teaches the forms."""
    with pytest.raises(WrongUsage, match="write beginning, end, an offset"):
        parse_position(text, now_ms=NOW_MS)


def test_a_time_before_1970_is_the_first_moment() -> None:
    """`@-99999d` asks for everything."""
    assert parse_time("@-99999d", now_ms=NOW_MS) == 0


@pytest.mark.parametrize(
    ("position", "offset"),
    [
        (Position(Kind.BEGINNING), 100),
        (Position(Kind.END), 200),
        (Position(Kind.OFFSET, 150), 150),
        (Position(Kind.OFFSET, 5), 100),
        (Position(Kind.OFFSET, 999), 200),
        (Position(Kind.TAIL, 10), 190),
        (Position(Kind.TAIL, 1000), 100),
        (Position(Kind.TAIL, 0), 200),
    ],
)
def test_a_position_outside_the_log_moves_to_its_border(position: Position, offset: int) -> None:
    """A log from 100 to 200 is read inside these borders whatever is asked for."""
    assert place(position, 100, 200) == offset
