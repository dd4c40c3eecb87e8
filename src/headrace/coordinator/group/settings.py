"""What an operator may decide about groups: the settings of the broker, under their Kafka names.

A group may have settings of its own (`kafka-configs --entity-type groups`); those that concern its
coordinator are applied by `for_group`, kept within the limits that the broker sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, TypeAlias

Overrides: TypeAlias = Callable[[str], Mapping[str, str]]
"""The settings of one group, by group id; empty for nearly all groups."""

_KINDS: Final = ("consumer", "share")
_NAMES: Final = ("session_timeout_ms", "heartbeat_interval_ms", "assignment_interval_ms")

_MAX_INT32: Final = 0x7FFF_FFFF
_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 24 * 60 * _MINUTE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Kafka's settings of the group coordinator with Kafka's defaults."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = _MAX_INT32
    group_initial_rebalance_delay_ms: int = 3_000
    # Not configurable in Kafka either: a member that was given an id must join with it in time.
    new_member_join_timeout_ms: int = 5 * _MINUTE_MS

    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_assignment_interval_ms: int = 1_000
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000
    group_consumer_regex_refresh_interval_ms: int = 10 * _MINUTE_MS
    group_consumer_max_size: int = _MAX_INT32
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    group_consumer_migration_policy: str = "bidirectional"
    group_coordinator_rebalance_protocols: frozenset[str] = frozenset({"classic", "consumer"})

    group_share_session_timeout_ms: int = 45_000
    group_share_min_session_timeout_ms: int = 45_000
    group_share_max_session_timeout_ms: int = 60_000
    group_share_heartbeat_interval_ms: int = 5_000
    group_share_min_heartbeat_interval_ms: int = 5_000
    group_share_max_heartbeat_interval_ms: int = 15_000
    group_share_assignment_interval_ms: int = 1_000
    group_share_min_assignment_interval_ms: int = 0
    group_share_max_assignment_interval_ms: int = 15_000
    group_share_max_size: int = 200

    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * _DAY_MS
    offsets_retention_check_interval_ms: int = 10 * _MINUTE_MS

    def for_group(self, overrides: Mapping[str, str]) -> GroupSettings:
        """These settings as one group sees them."""
        if not overrides:
            return self
        changes = {}
        for kind, name in product(_KINDS, _NAMES):
            value = overrides.get(f"{kind}.{name.replace('_', '.')}")
            if value is not None:
                lowest: int = getattr(self, f"group_{kind}_min_{name}")
                highest: int = getattr(self, f"group_{kind}_max_{name}")
                changes[f"group_{kind}_{name}"] = min(max(int(value), lowest), highest)
        return replace(self, **changes)  # type: ignore[arg-type]
