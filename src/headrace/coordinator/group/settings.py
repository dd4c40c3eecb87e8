"""What an operator may decide about groups: the settings of the broker, under their Kafka names.

A group may have settings of its own (`kafka-configs --entity-type groups`); those that concern its
coordinator are applied by `for_group`. Defaults and limits are not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeAlias

Overrides: TypeAlias = Callable[[str], Mapping[str, Any]]
"""The values of one group within the limits of the broker, by group id; empty for nearly all."""

_MINUTE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Kafka's settings of the group coordinator."""

    group_min_session_timeout_ms: int
    group_max_session_timeout_ms: int
    group_max_size: int
    group_initial_rebalance_delay_ms: int
    # Not configurable in Kafka either: a member that was given an id must join with it in time.
    new_member_join_timeout_ms: int = 5 * _MINUTE_MS

    group_consumer_session_timeout_ms: int
    group_consumer_heartbeat_interval_ms: int
    group_consumer_assignment_interval_ms: int
    group_consumer_regex_refresh_interval_ms: int = 10 * _MINUTE_MS  # nor is this
    group_consumer_max_size: int
    group_consumer_assignors: tuple[str, ...]
    group_consumer_migration_policy: str

    group_share_session_timeout_ms: int
    group_share_heartbeat_interval_ms: int
    group_share_assignment_interval_ms: int
    group_share_max_size: int

    offset_metadata_max_bytes: int
    offsets_retention_ms: int
    offsets_retention_check_interval_ms: int

    def for_group(self, overrides: Mapping[str, Any]) -> GroupSettings:
        """These settings as one group sees them."""
        if not overrides:
            return self
        values = {f"group_{name.replace('.', '_')}": value for name, value in overrides.items()}
        return replace(self, **{name: values[name] for name in values.keys() & _FIELDS})


_FIELDS: Final = frozenset(each.name for each in fields(GroupSettings))
