"""Amounts of data as a person writes and reads them."""

from __future__ import annotations

import pytest

from headrace.cli.failures import WrongUsage
from headrace.cli.sizes import parse_bytes, show_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("100", 100),
        ("1KB", 1_000),
        ("1KiB", 1_024),
        ("2.5 MB", 2_500_000),
        ("50MB/s", 50_000_000),
        ("10Gbit/s", 1_250_000_000),
        ("1Gb/s", 125_000_000),
        ("4TB", 4_000_000_000_000),
    ],
)
def test_amounts_are_read(text: str, size: int) -> None:
    """KB is a thousand, KiB is 1024, and eight bits are a byte."""
    assert parse_bytes(text, "--size") == size


@pytest.mark.parametrize("text", ["", "KB", "many", "1XB", "-1", "1iB", "1e9"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    """By the name of the option, with an example."""
    with pytest.raises(WrongUsage, match=r"--disk .* is not an amount of data"):
        parse_bytes(text, "--disk")


def test_amounts_are_shown_in_three_digits() -> None:
    """With the unit that fits."""
    assert [show_bytes(size) for size in (0, 999, 1_000, 3.024e12, 1e18)] == [
        "0 B",
        "999 B",
        "1 KB",
        "3.02 TB",
        "1,000 PB",
    ]
