"""Rolling counts: what enters is added, what leaves is taken back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.topics import Draft, provide
from examples.windowed_counts import (
    INPUT,
    OUTPUT,
    SLIDE_MS,
    WINDOW_MS,
    enter,
    leave,
    leaves_at,
    query,
    slide_of,
)
from tests.apps.reading import read_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGIN_MS = 1_700_000_000_000 // SLIDE_MS * SLIDE_MS


@pytest.mark.spec("book1:F-11", "book1:K-18")
def test_the_count_is_what_came_minus_what_left() -> None:
    """Slide by slide it equals a count of the window made anew."""
    times = [BEGIN_MS + 7_000 * number for number in range(300)]
    slides: dict[int, int] = {}
    for now_ms in range(BEGIN_MS, BEGIN_MS + 50 * 60_000, SLIDE_MS):
        entering = (time for time in times if slide_of(time) == now_ms)
        slides = leave(enter(slides, entering, now_ms), now_ms)
        again = sum(1 for time in times if now_ms - WINDOW_MS < slide_of(time) <= now_ms)
        assert sum(slides.values()) == again
    assert slides == {}


@pytest.mark.spec("book2:T-15")
def test_what_has_left_does_not_enter() -> None:
    """A word that comes later than the window is long is dropped."""
    late = BEGIN_MS - WINDOW_MS - SLIDE_MS
    assert enter({}, iter([late]), BEGIN_MS) == {}
    assert leaves_at(slide_of(BEGIN_MS)) == BEGIN_MS + SLIDE_MS + WINDOW_MS


@pytest.mark.spec("book1:A-11b", "book1:F-11", "book1:K-18")
def test_words_leave_the_topic_too(spark: SparkSession, servers: str, tmp_path: Path) -> None:
    """Counts rise, fall when words leave the window, and end with a record without a value."""
    minutes = [(0, "mill race mill"), (8, "mill"), (30, "river")]
    drafts = [Draft(text, timestamp_ms=BEGIN_MS + 60_000 * minute) for minute, text in minutes]
    provide(INPUT, drafts, partitions=1)
    provide(OUTPUT, partitions=1)
    running = (
        query(spark, max_offsets_per_trigger=1)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    told: dict[str, list[str | None]] = {}
    for record in read_topic(servers, OUTPUT):
        value = None if record.value is None else record.value.decode()
        told.setdefault((record.key or b"").decode(), []).append(value)
    assert told == {"mill": ["2", "3", "1", None], "race": ["1", None], "river": ["1"]}
