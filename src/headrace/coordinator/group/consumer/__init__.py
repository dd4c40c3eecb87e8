"""Consumer groups of the new protocol: the broker assigns, members reconcile (KIP-848)."""

from __future__ import annotations

from headrace.coordinator.group.consumer.group import ConsumerGroup, upgrade
from headrace.coordinator.group.consumer.roster import Downgrade

__all__ = ["ConsumerGroup", "Downgrade", "upgrade"]
