"""The marker of a written batch, as offsets of a group."""

from __future__ import annotations

from headrace.pipelines.sink.marker import Marker, marker_offsets, newest_marker
from headrace.types import TopicPartition


def test_a_marker_survives_its_offsets() -> None:
    """It stands under partition 0, which every topic has, whatever the task's number."""
    offsets = marker_offsets(Marker(41, 1800), {"orders", "clicks"})
    assert list(offsets) == [TopicPartition("clicks", 0)]
    assert newest_marker(offsets) == Marker(41, 1800)


def test_the_newest_of_several_topics_counts() -> None:
    """Batches of one task may go to different topics; older markers stay behind."""
    older = marker_offsets(Marker(9, 5), {"clicks"})
    newer = marker_offsets(Marker(12, 7), {"orders"})
    assert newest_marker(older | newer) == Marker(12, 7)
    assert newest_marker({}) is None


def test_an_offset_that_a_tool_has_set_tells_no_rows() -> None:
    """An operator may move a marker with any tool for groups."""
    place = TopicPartition("orders", 0)
    for metadata in ("", "null", "[]", "{}", '{"rows": "7"}', "x"):
        assert newest_marker({place: (5, metadata)}) == Marker(4, None)
