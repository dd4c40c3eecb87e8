"""Folders of rows."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from headrace.java.date_format import InvalidDateFormat
from headrace.pipelines.lake.partitioners import (
    DAILY,
    DAY_MS,
    HOURLY,
    FieldPartitioner,
    Partitioner,
    TimePartitioner,
)
from headrace.pipelines.lake.rotation import Rotation, zone
from headrace.pipelines.lake.rows import Rows
from headrace.pipelines.lake.times import FieldTime, RecordTime
from tests.pipelines.lake.rows import HOUR_MS


def folders(
    partitioner: Partitioner, values: pa.Array, times: list[int] | None = None
) -> list[str]:
    """The folder of each row, or why it has none."""
    offsets = pa.array(range(len(values)), pa.int64())
    given = None if times is None else pa.array(times, pa.int64())
    placed = partitioner.place(Rows("t", 3, values, offsets, given), 0)
    return [
        placed.refused[row] if row in placed.refused else placed.folders[code]
        for row, code in enumerate(placed.codes.tolist())
    ]


def at(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def test_fields() -> None:
    values = pa.array(
        [
            {"shop": {"city": "Köln"}, "number": 7, "open": True},
            {"shop": {"city": None}, "number": -1, "open": False},
            {"shop": {"city": "Köln"}, "number": 8, "open": True},
        ]
    )
    assert folders(FieldPartitioner(["shop.city", "number"]), values) == [
        "shop.city=Köln/number=7",
        "shop.city=__HIVE_DEFAULT_PARTITION__/number=-1",
        "shop.city=Köln/number=8",
    ]
    assert folders(FieldPartitioner(["open"]), values)[1] == "open=false"


@pytest.mark.parametrize(
    ("value", "folder"),
    [
        ("../../etc", "..%2F..%2Fetc"),
        ("..", "%2E%2E"),
        ("a=b:c", "a%3Db%3Ac"),
        ("50%", "50%25"),
        ("line\nend", "line%0Aend"),
        ("", "__HIVE_DEFAULT_PARTITION__"),
    ],
)
def test_no_value_leaves_its_folder(value: str, folder: str) -> None:
    assert folders(FieldPartitioner(["f"]), pa.array([{"f": value}])) == [f"f={folder}"]


def test_values_that_are_too_long_for_a_folder() -> None:
    """In bytes, as they are written; the other rows have their folders."""
    values = pa.array([{"f": "x" * 253}, {"f": "x" * 254}, {"f": "é" * 127}, {"f": "/" * 85}])
    placed = folders(FieldPartitioner(["f"]), values)
    assert placed[0] == f"f={'x' * 253}"
    told = "the folder of its field f would have a name of 256 bytes, and at most 255 can be: leave"
    assert [reason.startswith(told) for reason in placed] == [False, True, True, False]
    assert placed[3].startswith("the folder of its field f would have a name of 257 bytes")
    assert folders(FieldPartitioner(["f"], most_bytes=256), values)[1] == f"f={'x' * 254}"


def test_fields_that_name_no_folder() -> None:
    values = pa.array([{"a": 1.5, "b": [1]}])
    for name, reason in {
        "a": "field a is a double: folders are named by integers, booleans, strings and dates",
        "b": "field b is a list",
        "c": "the value has no field c, which partition.field.name asks for",
    }.items():
        (told,) = folders(FieldPartitioner([name]), values)
        assert told.startswith(reason)


def test_days_and_hours() -> None:
    times = [at("2024-02-29T23:59:59.999Z"), at("2024-03-01T00:00Z"), at("1969-12-31T23:00Z")]
    values = pa.array(["a", "b", "c"])
    daily = TimePartitioner(DAILY, DAY_MS, extractor=RecordTime())
    assert folders(daily, values, times) == [
        "year=2024/month=02/day=29",
        "year=2024/month=03/day=01",
        "year=1969/month=12/day=31",
    ]
    berlin = TimePartitioner(
        HOURLY, HOUR_MS, timezone=zone("Europe/Berlin"), extractor=RecordTime()
    )
    assert folders(berlin, values, times) == [
        "year=2024/month=03/day=01/hour=00",
        "year=2024/month=03/day=01/hour=01",
        "year=1970/month=01/day=01/hour=00",
    ]


def test_the_hour_that_comes_twice() -> None:
    times = [at(f"2024-10-27T{hour:02}:30Z") for hour in range(4)]
    berlin = TimePartitioner(
        "dd'T'HH", HOUR_MS, timezone=zone("Europe/Berlin"), extractor=RecordTime()
    )
    assert folders(berlin, pa.array(list("abcd")), times) == ["27T02", "27T02", "27T03", "27T04"]


def test_quarters_of_an_hour() -> None:
    quarter = TimePartitioner("HH-mm", HOUR_MS // 4, extractor=RecordTime())
    times = [at("2024-01-01T10:14:59Z"), at("2024-01-01T10:15:00Z"), at("2024-01-01T10:59:00Z")]
    assert folders(quarter, pa.array(list("abc")), times) == ["10-00", "10-15", "10-45"]


def test_times_of_fields() -> None:
    moment = datetime.datetime(2024, 5, 6, 7, tzinfo=datetime.UTC)
    milliseconds = int(moment.timestamp() * 1000)
    for value in (milliseconds, moment, "2024-05-06T09:00:00+02:00", "2024-05-06T07:00:00Z"):
        values = pa.array([{"at": {"time": value}}])
        by_field = TimePartitioner(HOURLY, HOUR_MS, extractor=FieldTime("at.time"))
        assert folders(by_field, values) == ["year=2024/month=05/day=06/hour=07"]
    values = pa.array([{"at": "yesterday"}, {"at": None}, {"at": "2024-05-06"}])
    by_field = TimePartitioner("dd", HOUR_MS, extractor=FieldTime("at"))
    assert folders(by_field, values) == [
        "field at is not a time of ISO 8601: 'yesterday'",
        "field at is not a time of ISO 8601: None",
        "06",
    ]
    by_other = TimePartitioner("dd", HOUR_MS, extractor=FieldTime("time"))
    assert folders(by_other, values) == ["the value has no time in its field time"] * 3


def test_the_clock_is_not_deterministic() -> None:
    by_clock = TimePartitioner(HOURLY, HOUR_MS)
    assert not by_clock.deterministic
    assert folders(by_clock, pa.array(["a"])) == ["year=1970/month=01/day=01/hour=00"]


def test_letters_that_are_not_supported() -> None:
    with pytest.raises(InvalidDateFormat, match="cannot have the letter x"):
        TimePartitioner("xxxx/ww", DAY_MS)


def test_schedules_begin_at_midnight() -> None:
    berlin = Rotation(schedule_ms=6 * HOUR_MS, timezone=zone("Europe/Berlin"))
    assert berlin.next_scheduled_ms(at("2024-07-01T21:59:59Z")) == at("2024-07-01T22:00Z")
    assert berlin.next_scheduled_ms(at("2024-07-01T22:00:00Z")) == at("2024-07-02T04:00Z")
    assert Rotation(schedule_ms=7 * HOUR_MS).next_scheduled_ms(at("2024-07-01T22:00Z")) == at(
        "2024-07-02T04:00Z"
    )
    with pytest.raises(ValueError, match="no time zone is called Mars/Olympus"):
        zone("Mars/Olympus")


@pytest.mark.parametrize("place", ["UTC", "Europe/Berlin"])
def test_times_of_no_calendar(place: str) -> None:
    """One record whose time is in nanoseconds is refused; those beside it have their folders."""
    times = [at("2026-11-18T12:00Z"), 10**17, -(2**63), 2**63 - 1, at("9999-12-30T12:00Z")]
    by_time = TimePartitioner(DAILY, DAY_MS, timezone=zone(place), extractor=RecordTime())
    found = folders(by_time, pa.array(range(5)), times)
    assert found[0] == "year=2026/month=11/day=18"
    assert found[4] == "year=9999/month=12/day=30"
    assert found[1] == "its time, 100000000000000000 ms since 1970, is in no year of a calendar"
    assert all("is in no year of a calendar" in told for told in found[2:4])
