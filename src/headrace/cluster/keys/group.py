"""Settings of a group, above those of its coordinator (KIP-848).

Kafka has as many again for share and streams groups, which do not exist here. A value must lie
between two settings of the broker; `GROUP_BOUNDS` names them, and the one that it stands above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.cluster.config_types import INT, ConfigKey, at_least

GROUP_KEYS: Final = (
    ConfigKey(
        "consumer.assignment.interval.ms",
        INT,
        "1000",
        "Shortest time between two assignments of the group.",
        at_least(0),
    ),
    ConfigKey(
        "consumer.heartbeat.interval.ms",
        INT,
        "5000",
        "Heartbeat interval given to the members.",
        at_least(1),
    ),
    ConfigKey(
        "consumer.session.timeout.ms",
        INT,
        "45000",
        "A member that is silent for this long is removed.",
        at_least(1),
    ),
)


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """The broker settings that give a group setting its value and its limits."""

    default: str
    minimum: str
    maximum: str


GROUP_BOUNDS: Final = {
    "consumer.assignment.interval.ms": GroupBounds(
        "group.consumer.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    "consumer.heartbeat.interval.ms": GroupBounds(
        "group.consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    "consumer.session.timeout.ms": GroupBounds(
        "group.consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
}
