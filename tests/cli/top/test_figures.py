"""What `headrace top` makes of two looks at a cluster, without a cluster."""

from __future__ import annotations

import io

from rich.console import Console

from headrace.admin.views import BrokerView, ClusterView, PartitionView, TopicView
from headrace.cli.top.figures import Sort, compare
from headrace.cli.top.sampling import GroupSample, Sample
from headrace.cli.top.screen import draw, shown
from headrace.types import ZERO_UUID, TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
CLUSTER = ClusterView("cluster", 1, (BrokerView(1, "h", 9092, "east", False),))


def partition(number: int, leader: int | None, isr: tuple[int, ...]) -> PartitionView:
    return PartitionView(number, leader, (1, 2), isr, (), None, None)


TOPICS = (
    TopicView("__own", ZERO_UUID, True, (partition(0, 1, (1, 2)),)),
    TopicView("a", ZERO_UUID, False, (partition(0, 1, (1, 2)), partition(1, 1, (1,)))),
    TopicView("b", ZERO_UUID, False, (partition(0, None, (2,)),)),
)


def sample(at_s: float, ends: dict[TopicPartition, int], committed: int) -> Sample:
    groups = (
        GroupSample("idle", "Empty", {A0: 10}),
        GroupSample("busy", "Stable", {A0: committed, B0: 5}),
    )
    return Sample(at_s, CLUSTER, TOPICS, ends, {1: {A0: 100, A1: 50}}, groups)


BEFORE = sample(10.0, {A0: 100, A1: 0}, 50)
NOW = sample(12.0, {A0: 300, A1: 20}, 150)


def test_rates_are_differences_per_second() -> None:
    """Of ends for topics and brokers, of committed offsets for groups."""
    figures = compare(BEFORE, NOW, Sort.RATE, internal=False)
    assert figures.interval_s == 2.0
    rates = {row["topic"]: row["records_s"] for row in figures.topics}
    assert rates == {"a": 110.0, "b": 0}
    assert [row["records_s"] for row in figures.brokers] == [110.0, 0]
    assert [(row["group"], row["records_s"]) for row in figures.groups] == [
        ("busy", 50.0),
        ("idle", 0),
    ]


def test_lag_is_what_lies_between_commit_and_end() -> None:
    """A partition without a leader has no end and does not count; who stands still never ends."""
    busy, idle = compare(BEFORE, NOW, Sort.RATE, internal=False).groups
    assert (busy["lag"], busy["caught_up_in_s"], busy["partitions"]) == (150, 3, 2)
    assert (idle["lag"], idle["caught_up_in_s"]) == (290, None)


def test_what_is_not_well_is_counted() -> None:
    """Replicas that are missing, partitions without a leader, brokers that are down."""
    figures = compare(BEFORE, NOW, Sort.NAME, internal=False)
    counts = [(row["topic"], row["under_replicated"], row["offline"]) for row in figures.topics]
    assert counts == [("a", 1, 0), ("b", 1, 1)]
    assert [row["address"] for row in figures.brokers] == ["h:9092", "down"]
    assert [row["size"] for row in figures.brokers] == [150, None]


def test_a_topic_made_anew_does_not_count_backwards() -> None:
    """Offsets that fall are no negative rate."""
    fallen = sample(12.0, {A0: 0, A1: 0}, 0)
    figures = compare(BEFORE, fallen, Sort.LAG, internal=True)
    assert all(row["records_s"] == 0 for row in (*figures.topics, *figures.groups))
    assert "__own" in [row["topic"] for row in figures.topics]


def test_the_furthest_behind_stands_on_top() -> None:
    """If that is what is asked for."""
    figures = compare(BEFORE, NOW, Sort.LAG, internal=False)
    assert [row["group"] for row in figures.groups] == ["idle", "busy"]


def test_the_screen_fits_the_terminal() -> None:
    """Tables give way, and tell how many rows they leave out; names are no markup."""
    many = [
        {"topic": f"[red]t{number}", "partitions": 1, "under_replicated": 0, "offline": 0}
        | {"records_s": 1.5, "size": 1000}
        for number in range(100)
    ]
    figures = compare(BEFORE, NOW, Sort.RATE, internal=False)._replace(topics=many)
    console = Console(width=100, height=24, record=True, file=io.StringIO())
    console.print(draw(figures, console))
    lines = console.export_text().splitlines()
    assert len(lines) <= 24
    assert "controller: broker 1" in lines[0]
    assert any(line.strip().startswith("[red]t0") for line in lines)
    assert any("more topics" in line for line in lines)
    assert any(line.startswith("idle") for line in lines)


def test_values_are_told_at_a_glance() -> None:
    """Units for sizes, commas for thousands, a dash for what nobody knows."""
    assert shown("size", 3_024_000) == "3.02 MB"
    assert shown("lag", 1234567) == "1,234,567"
    assert shown("records_s", 1234.5) == "1,234"
    assert shown("caught_up_in_s", 90) == "1m 30s"
    assert shown("caught_up_in_s", None) == "-"
