"""Consumer groups of the new protocol: the broker assigns, members reconcile (KIP-848)."""

from __future__ import annotations

from headrace.coordinator.group.consumer.describe import describe
from headrace.coordinator.group.consumer.group import ConsumerGroup, upgrade
from headrace.coordinator.group.consumer.offsets import check_offset_commit, check_offset_fetch
from headrace.coordinator.group.consumer.roster import Downgrade

__all__ = [
    "ConsumerGroup",
    "Downgrade",
    "check_offset_commit",
    "check_offset_fetch",
    "describe",
    "upgrade",
]
