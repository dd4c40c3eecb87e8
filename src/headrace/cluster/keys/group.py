"""Settings of a group, above those of its coordinator (KIP-848, KIP-932).

Kafka has some for streams groups too, which do not exist here. Most values must lie between two
settings of the broker; `GROUP_BOUNDS` names them, and the one that the group's stands above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.cluster.config_types import BOOLEAN, STRING, Allowed, ConfigKey, at_least, one_of
from headrace.cluster.keys.groups import GROUPS_KEYS
from headrace.cluster.offset_reset import OFFSET_RESET


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """The broker settings that give a group setting its value and its limits."""

    default: str
    minimum: str
    maximum: str


# A setting that is not here belongs to groups alone: the broker has neither a value nor limits.
GROUP_BOUNDS: Final[dict[str, GroupBounds]] = {}
_BROKER_KEYS: Final = {key.name: key for key in GROUPS_KEYS}


def _bounded(name: str, documentation: str, allowed: Allowed | None = None) -> ConfigKey:
    """A setting that the broker has too, and limits; `allowed` if groups may go further."""
    kind, setting = name.split(".", 1)
    bounds = GROUP_BOUNDS[name] = GroupBounds(
        f"group.{name}", f"group.{kind}.min.{setting}", f"group.{kind}.max.{setting}"
    )
    key = _BROKER_KEYS[bounds.default]
    return ConfigKey(name, key.type, key.default, documentation, allowed or key.allowed)


GROUP_KEYS: Final = (
    _bounded(
        "consumer.assignment.interval.ms", "Shortest time between two assignments of the group."
    ),
    _bounded("consumer.heartbeat.interval.ms", "Heartbeat interval given to the members."),
    _bounded("consumer.session.timeout.ms", "A member that is silent for this long is removed."),
    _bounded(
        "share.assignment.interval.ms", "Shortest time between two assignments of the share group."
    ),
    ConfigKey(
        "share.auto.offset.reset",
        STRING,
        "latest",
        "Where the share group begins to read a partition: at its start, at its end, or with the "
        "records of the last while (`by_duration:PT1H`).",
        OFFSET_RESET,
    ),
    _bounded(
        "share.delivery.count.limit",
        "How often a record is delivered before it is given up.",
        at_least(2),
    ),
    _bounded(
        "share.heartbeat.interval.ms", "Heartbeat interval given to the members of the share group."
    ),
    ConfigKey(
        "share.isolation.level",
        STRING,
        "read_uncommitted",
        "Whether the share group reads records of transactions that are open or were aborted.",
        one_of("read_committed", "read_uncommitted"),
    ),
    _bounded(
        "share.partition.max.record.locks",
        "Records of one partition that may be locked at a time.",
        at_least(100),
    ),
    _bounded(
        "share.record.lock.duration.ms",
        "How long a record that was delivered stays locked.",
        at_least(1000),
    ),
    ConfigKey(
        "share.renew.acknowledge.enable",
        BOOLEAN,
        "true",
        "Whether a member may prolong the lock of a record (KIP-1222).",
    ),
    _bounded(
        "share.session.timeout.ms",
        "A member of the share group that is silent for this long is removed.",
    ),
)
