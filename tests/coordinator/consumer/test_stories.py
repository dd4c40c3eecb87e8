"""The life of a consumer group, told as stories: joins, reconciliation, epochs, time-outs."""

from __future__ import annotations

from tests.coordinator.consumer.story import check


def test_first_member() -> None:
    """KIP-848: a first member gets all partitions with its first answer."""
    check(
        """
        topic orders 3
        A > join topics=orders
        log member A
        log epoch 1
        log target of A orders:0,1,2
        log target 1
        log A epoch 1 STABLE orders:0@1,1@1,2@1
        group Stable
        A < epoch 1 orders:0,1,2
        A > heartbeat
        A < epoch 1
    """,
        logged=True,
    )
