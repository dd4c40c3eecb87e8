"""Positions in a checkpoint: the same text for the same place, and room for what came before."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from headrace.errors import CorruptData
from headrace.pipelines.source.offsets import Position, position_from_json, position_to_json
from headrace.types import TopicPartition

ID = UUID(int=7)


def test_a_position_survives_a_checkpoint() -> None:
    """Spark's own form, with the ids of the topics and the group beside it."""
    position = Position(
        {TopicPartition("orders", 1): 4, TopicPartition("orders", 0): 17}, {"orders": ID}, "g-1"
    )
    document = position_to_json(position)
    assert json.dumps(document) == (
        '{"orders": {"0": 17, "1": 4}, "@group": "g-1", '
        '"@ids": {"orders": "AAAAAAAAAAAAAAAAAAAABw"}}'
    )
    assert position_from_json(json.loads(json.dumps(document))) == position


def test_equal_positions_are_equal_texts() -> None:
    """Spark takes another text for new data and would run an empty batch, again and again."""
    ten, two = TopicPartition("a", 10), TopicPartition("a", 2)
    one_way = Position({ten: 1, two: 2, TopicPartition("b", 0): 3}, {"b": ID, "a": ID})
    other_way = Position({TopicPartition("b", 0): 3, two: 2, ten: 1}, {"a": ID, "b": ID})
    assert json.dumps(position_to_json(one_way)) == json.dumps(position_to_json(other_way))


def test_a_checkpoint_of_sparks_kafka_format_can_be_continued() -> None:
    """It has no ids and no group; everything else is the same."""
    position = position_from_json({"orders": {"0": 17}})
    assert position == Position({TopicPartition("orders", 0): 17})


@pytest.mark.parametrize(
    "document",
    [{"orders": 5}, {"orders": {"x": 5}}, {"orders": {"0": None}}, {"@ids": {"orders": "short"}}],
)
def test_a_checkpoint_of_something_else_is_said(document: dict[str, object]) -> None:
    """A checkpoint of another source: the text shows what was found."""
    with pytest.raises(CorruptData, match="checkpointLocation of its own"):
        position_from_json(document)
