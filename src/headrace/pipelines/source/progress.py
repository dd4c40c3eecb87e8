"""The progress of a query as a consumer group's offsets, where every lag tool looks for it.

Spark keeps the truth in its checkpoint; what is committed here is for people and their tools. So a
commit that fails is logged and never stops a query, and after a failure none is tried for a while,
lest a slow coordinator slow the query down.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from headrace.client.cluster import shared_cluster
from headrace.client.group_offsets import commit_offsets
from headrace.client.settings import ClientSettings
from headrace.errors import HeadraceError
from headrace.pipelines.source.gaps import LOGGER
from headrace.runtime.clock import Clock
from headrace.types import TopicPartition

METADATA: Final = "headrace"
_TIMEOUT_MS: Final = 5_000
_PAUSE_MS: Final = 10_000


def choose_group(prefix: str, remembered: str | None) -> str:
    """The group in the checkpoint, if it is still wanted by that name, or a new one."""
    if remembered is not None and remembered.startswith(f"{prefix}-"):
        return remembered
    return f"{prefix}-{uuid.uuid4()}"


class GroupProgress:
    """Commits each position of a query once."""

    def __init__(self, settings: ClientSettings, clock: Clock) -> None:
        self._settings = replace(settings, api_timeout_ms=min(settings.api_timeout_ms, _TIMEOUT_MS))
        self._clock = clock
        self._committed: dict[TopicPartition, int] = {}
        self._group: str | None = None
        self._not_before_ms = 0

    def reached(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Everything below these offsets is processed."""
        if group != self._group:
            self._group, self._committed = group, {}
        moved = {
            partition: (offset, METADATA)
            for partition, offset in offsets.items()
            if self._committed.get(partition) != offset
        }
        now_ms = self._clock.monotonic_ms()
        if not moved or now_ms < self._not_before_ms:
            return
        try:
            commit_offsets(shared_cluster(self._settings), group, moved)
        except HeadraceError as fault:
            self._not_before_ms = self._clock.monotonic_ms() + _PAUSE_MS
            LOGGER.warning(
                "the progress of the query is not shown in group %s for now: %s", group, fault
            )
            return
        self._committed |= {partition: offset for partition, (offset, _) in moved.items()}
