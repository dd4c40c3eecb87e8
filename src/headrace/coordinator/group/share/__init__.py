"""Share groups: members share the records of a partition, one by one (KIP-932)."""

from __future__ import annotations

from headrace.coordinator.group.share.group import ShareGroup
from headrace.coordinator.group.share.groups import ShareGroups

__all__ = ["ShareGroup", "ShareGroups"]
