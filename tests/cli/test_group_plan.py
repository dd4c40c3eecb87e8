"""The plan of `headrace group reset`: new offsets from plain numbers."""

from __future__ import annotations

import pytest

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.group.describe import show_parts, sum_lag
from headrace.cli.group.offsets import Standing
from headrace.cli.group.options import parse_scope
from headrace.cli.offset_plans import (
    MAX_CSV_LINES,
    Borders,
    Kind,
    build_plan,
    parse_csv,
    to_csv,
)
from headrace.types import TopicPartition as TopicPart

A0, A1, B0 = TopicPart("a", 0), TopicPart("a", 1), TopicPart("b", 0)
BORDERS = {A0: Borders(5, 20, 12), A1: Borders(0, 8)}
COMMITTED = {A0: 10}


@pytest.mark.parametrize(
    ("kind", "number", "expected"),
    [
        (Kind.EARLIEST, 0, [5, 0]),
        (Kind.LATEST, 0, [20, 8]),
        (Kind.TIME, 1_000, [12, 8]),
        (Kind.DURATION, 1_000, [12, 8]),
        (Kind.OFFSET, 7, [7, 7]),
        (Kind.OFFSET, 3, [5, 3]),
        (Kind.OFFSET, 99, [20, 8]),
        (Kind.CURRENT, 0, [10, 8]),
    ],
)
def test_each_wish_has_its_offsets(kind: Kind, number: int, expected: list[int]) -> None:
    """Partition 1 has no committed offset and no record at the time; both begin and end."""
    steps = build_plan(kind, number, BORDERS, COMMITTED, {})
    assert [step.new_offset for step in steps] == expected
    assert [step.current_offset for step in steps] == [10, None]


def test_a_shift_begins_at_the_committed_offset() -> None:
    """Forwards, backwards, and not at all where nothing is committed."""
    only = {A0: BORDERS[A0]}
    assert build_plan(Kind.SHIFT, -4, only, COMMITTED, {})[0].new_offset == 6
    assert build_plan(Kind.SHIFT, 4, only, COMMITTED, {})[0].new_offset == 14
    with pytest.raises(Failure, match=r"a:1 has no committed offset to shift from"):
        build_plan(Kind.SHIFT, 1, BORDERS, COMMITTED, {})


def test_a_notice_tells_what_was_clamped() -> None:
    """And nothing is said of what lies inside; both borders are inside."""
    steps = build_plan(Kind.OFFSET, 20, BORDERS, COMMITTED, {})
    assert [step.notice for step in steps] == [
        "",
        "a:1: offset 20 is outside the log (0 to 8), using 8",
    ]


def test_a_plan_survives_its_csv() -> None:
    """What --export writes, --from-file reads."""
    steps = build_plan(Kind.LATEST, 0, BORDERS, COMMITTED, {})
    assert to_csv(steps) == "a,0,20\na,1,8\n"
    listed = parse_csv(to_csv(steps), "g")
    assert listed == {A0: 20, A1: 8}
    again = build_plan(Kind.FILE, 0, BORDERS, {}, listed)
    assert [step.new_offset for step in again] == [20, 8]


def test_lines_may_name_their_group() -> None:
    """As Kafka's tool exports several groups; quotes and empty lines are allowed."""
    text = '"g","a",0,1\n\nother,a,1,2\ng, b , 0 , 3\n'
    assert parse_csv(text, "g") == {A0: 1, B0: 3}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a,0\n",
        "a,x,1\n",
        "a,0,-1\n",
        ",0,1\n",
        "other,a,0,1\n",
        "a,0,1,2,3\n",
        "a,0,²\n",
        f"a,0,{2**63}",
    ],
)
def test_a_bad_file_is_wrong_usage(text: str) -> None:
    """The line is shown, and how it should be."""
    with pytest.raises(WrongUsage, match="file"):
        parse_csv(text, "g")


def test_a_file_has_a_limit() -> None:
    """No file makes the command eat all memory."""
    with pytest.raises(WrongUsage, match="split it"):
        parse_csv("\n" * (MAX_CSV_LINES + 1), "g")


def test_a_scope_names_topics_and_partitions() -> None:
    """Repeated, it grows; a topic without numbers is all of it."""
    assert parse_scope(["a", "b:0,2", "b:1"]) == {"a": None, "b": {0, 1, 2}}
    assert parse_scope(["a:1", "a"]) == {"a": None}
    for wrong in ("", ":0", "a:", "a:x", "a:-1", "a:0,,1", "a:99999999999"):
        with pytest.raises(WrongUsage, match="TOPIC:0,1,2"):
            parse_scope([wrong])


def test_parts_are_shown_as_they_are_written() -> None:
    """Sorted by number, not by text."""
    parts = (TopicPart("b", 0), TopicPart("a", 10), TopicPart("a", 2))
    assert show_parts(parts) == ["a:2,10", "b:0"]


@pytest.mark.spec("admin:CO-19")
def test_lag_is_summed_where_it_is_known() -> None:
    """End 500, committed 400: 100; a partition without an offset counts as uncommitted."""

    def standing(topic: str, partition: int, lag: int | None) -> Standing:
        return Standing(topic, partition, None, None, lag, None, None, None)

    rows = sum_lag("g", [standing("a", 0, 100), standing("a", 1, None), standing("b", 0, 0)])
    assert rows == [
        {"group": "g", "topic": "a", "partitions": 2, "uncommitted": 1, "lag": 100, "max_lag": 100},
        {"group": "g", "topic": "b", "partitions": 1, "uncommitted": 0, "lag": 0, "max_lag": 0},
    ]
