"""Java's SimpleDateFormat in UTC: what was recorded of Java 17, and what is rejected."""

from __future__ import annotations

import pytest

from headrace.java.date_format import DateFormat, InvalidDateFormat, UnreadableDate

MOMENT = 1_580_702_706_007  # 3 February 2020, 04:05:06.007
CENTURY_START = -729_600_000_000  # 18 November 1946


@pytest.mark.parametrize(
    ("pattern", "epoch_ms", "text"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", MOMENT, "2020-02-03T04:05:06.007Z"),
        ("yyyyMMdd", MOMENT, "20200203"),
        ("yy M d H k K h a", MOMENT, "20 2 3 4 4 4 4 AM"),
        ("EEE EEEE MMM MMMM LLL", MOMENT, "Mon Monday Feb February Feb"),
        ("D u SSSSSS", MOMENT, "34 1 000007"),
        ("z zzzz Z X XX", MOMENT, "UTC Coordinated Universal Time +0000 Z Z"),
        ("'it''s' yyyy ''", MOMENT, "it's 2020 '"),
        ("k K h a", 0, "24 0 12 AM"),
        ("YYYY-MM-dd", 1_577_664_000_000, "2020-12-30"),
        ("yyyy-MM-dd G", -12_219_292_800_001, "1582-10-04 AD"),
        ("yyyy-MM-dd G", -94_383_545_375_644, "1022-02-17 BC"),
        ("YYYY", -94_383_545_375_644, "-1021"),
    ],
)
def test_a_moment_is_written_as_in_java(pattern: str, epoch_ms: int, text: str) -> None:
    """Before 15 October 1582 the calendar is the Julian one."""
    assert DateFormat(pattern).text(epoch_ms) == text


@pytest.mark.parametrize(
    ("pattern", "text", "epoch_ms"),
    [
        ("yyyy-MM-dd HH:mm:ss", "2020-02-03 04:05:06", 1_580_702_706_000),
        ("yyyy-MM-dd", "2020-14-03T", 1_612_310_400_000),
        ("yyyyMMddHHmmss", "20200203040506", 1_580_702_706_000),
        ("d MMM yyyy h:mm a", "3 feb 2020 12:05 am", 1_580_688_300_000),
        ("EEE, d MMM yyyy HH:mm:ss Z", "Mon, 3 Feb 2020 04:05:06 +0130", 1_580_697_306_000),
        ("yyyy-MM-dd'T'HH:mm:ssXXX", "2020-02-03T04:05:06-08:00", 1_580_731_506_000),
        ("yyyy-MM-dd HH z", "2020-02-03 04 GMT+2:00", 1_580_695_200_000),
        ("MM/dd/yy", "10/24/46", 2_423_952_000_000),
        ("MM/dd/yy", "11/24/46", -729_129_600_000),
        ("kk:mm", "24:01", 60_000),
        ("SSS", "-5", -5),
    ],
)
def test_a_text_is_read_as_in_java(pattern: str, text: str, epoch_ms: int) -> None:
    """Leniently: fields overflow, letters may be of either case, what follows is ignored."""
    assert DateFormat(pattern, reads=True).epoch_ms(text, CENTURY_START) == epoch_ms


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyy-MM-dd", "2020/02/03"),
        ("yyyy-MM-dd", "2020-02-"),
        ("yyyyMMdd", "202002"),
        ("h a", "3  PM"),
        ("HH z", "03 PST8"),
        ("X", "+1"),
        ("Z", "+2500"),
    ],
)
def test_a_text_that_does_not_fit_is_told(pattern: str, text: str) -> None:
    """As Java's ParseException does, and zones by name other than UTC and GMT."""
    with pytest.raises(UnreadableDate):
        DateFormat(pattern, reads=True).epoch_ms(text, CENTURY_START)


@pytest.mark.parametrize("pattern", ["bbb", "'", "XXXX", "w", "W", "F"])
def test_a_wrong_pattern_is_rejected(pattern: str) -> None:
    """The last three are Java's, but not supported."""
    with pytest.raises(InvalidDateFormat):
        DateFormat(pattern)


@pytest.mark.parametrize("pattern", ["YYYY", "G", "D", "u", "E HH", "HH h"])
def test_a_pattern_that_cannot_be_read_by_is_rejected(pattern: str) -> None:
    """Such patterns can only write."""
    DateFormat(pattern)
    with pytest.raises(InvalidDateFormat):
        DateFormat(pattern, reads=True)
