"""How the timers of modern groups are named; the shard hands them back when they are due."""

from __future__ import annotations

from typing import NamedTuple


class TimerKey(NamedTuple):
    """Equal to the plain tuple of its fields."""

    kind: str
    group_id: str
    member_id: str = ""
