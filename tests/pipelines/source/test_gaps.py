"""Why data is not there: told apart by numbers alone, and said with a remedy."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest

from headrace.pipelines.source.gaps import (
    Cause,
    DataLost,
    Loss,
    out_of_range,
    position_losses,
    report,
)
from headrace.pipelines.source.offsets import Position
from headrace.pipelines.source.subscription import TopicNames
from headrace.types import TopicPartition

ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
SUBSCRIBED = TopicNames(frozenset({"orders"}))
OLD, NEW = UUID(int=1), UUID(int=2)


def _causes(
    position: Position,
    ends: dict[TopicPartition, int],
    ids: dict[str, UUID] | None = None,
) -> list[tuple[Cause, int, int | None]]:
    losses = position_losses(position, SUBSCRIBED, ends, ids or {})
    return [(loss.cause, loss.start, loss.end) for loss in losses]


def test_nothing_is_lost_where_the_log_goes_on() -> None:
    """New partitions and an id that was not known before are no loss."""
    position = Position({ORDERS_0: 5})
    assert _causes(position, {ORDERS_0: 5, ORDERS_1: 9}, {"orders": NEW}) == []
    assert _causes(Position({ORDERS_0: 5}, {"orders": OLD}), {ORDERS_0: 6}) == []


def test_each_loss_has_its_cause() -> None:
    """Deleted, made anew, cut off, or a position of another query's topic."""
    known = Position({ORDERS_0: 5}, {"orders": OLD})
    assert _causes(known, {}) == [(Cause.DELETED, 5, None)]
    assert _causes(known, {ORDERS_1: 9}, {"orders": OLD}) == [(Cause.DELETED, 5, None)]
    assert _causes(known, {ORDERS_0: 3}, {"orders": OLD}) == [(Cause.TRUNCATED, 3, 5)]
    # A new topic may well be longer than the old one was: only its id tells.
    assert _causes(known, {ORDERS_0: 9}, {"orders": NEW}) == [(Cause.RECREATED, 5, None)]
    other = Position({TopicPartition("payments", 0): 5})
    assert _causes(other, {ORDERS_0: 9}) == [(Cause.NOT_SUBSCRIBED, 5, None)]


def test_offsets_out_of_range_are_old_or_never_were() -> None:
    """Retention takes from the front, a lost election from the back."""
    old = out_of_range("orders", 0, start=5, end=20, log_start=9, log_end=30)
    assert (old.cause, old.start, old.end) == (Cause.RETENTION, 5, 9)
    all_old = out_of_range("orders", 0, start=5, end=20, log_start=25, log_end=30)
    assert (all_old.start, all_old.end) == (5, 20)
    beyond = out_of_range("orders", 0, start=15, end=20, log_start=0, log_end=12)
    assert (beyond.cause, beyond.start, beyond.end) == (Cause.TRUNCATED, 15, 20)


def test_a_loss_stops_the_query_with_a_remedy() -> None:
    """failOnDataLoss=true: topic, partition, offsets, cause and option names are all there."""
    loss = Loss(Cause.RETENTION, "orders", 3, 5, 9, "the log begins at offset 9")
    with pytest.raises(DataLost) as lost:
        report([loss], fail=True)
    for words in ("topic orders, partition 3", "5 to 8", "4 in all", "retention", "begins at"):
        assert words in str(lost.value)
    for remedy in ("retention.ms", "failOnDataLoss=false"):
        assert remedy in str(lost.value)
    assert lost.value.losses == [loss]
    report([], fail=True)


def test_a_loss_is_logged_when_the_query_may_go_on(caplog: pytest.LogCaptureFixture) -> None:
    """failOnDataLoss=false: the same facts, without advice."""
    with caplog.at_level(logging.WARNING):
        report([Loss(Cause.DELETED, "orders", 3, 5)], fail=False)
    assert "topic orders, partition 3: everything from offset 5 on is not there" in caplog.text
    assert "Remedy" not in caplog.text
