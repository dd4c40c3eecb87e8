"""Settings of a group, above those of its coordinator (KIP-848, KIP-932).

Kafka has some for streams groups too, which do not exist here. Most values must lie between two
settings of the broker; `GROUP_BOUNDS` names them, and the one that the group's stands above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.cluster.config_types import BOOLEAN, INT, STRING, ConfigKey, at_least, one_of
from headrace.cluster.offset_reset import OFFSET_RESET

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
    ConfigKey(
        "share.assignment.interval.ms",
        INT,
        "1000",
        "Shortest time between two assignments of the share group.",
        at_least(0),
    ),
    ConfigKey(
        "share.auto.offset.reset",
        STRING,
        "latest",
        "Where the share group begins to read a partition: at its start, at its end, or with the "
        "records of the last while (`by_duration:PT1H`).",
        OFFSET_RESET,
    ),
    ConfigKey(
        "share.delivery.count.limit",
        INT,
        "5",
        "How often a record is delivered before it is given up.",
        at_least(2),
    ),
    ConfigKey(
        "share.heartbeat.interval.ms",
        INT,
        "5000",
        "Heartbeat interval given to the members of the share group.",
        at_least(1),
    ),
    ConfigKey(
        "share.isolation.level",
        STRING,
        "read_uncommitted",
        "Whether the share group reads records of transactions that are open or were aborted.",
        one_of("read_committed", "read_uncommitted"),
    ),
    ConfigKey(
        "share.partition.max.record.locks",
        INT,
        "2000",
        "Records of one partition that may be locked at a time.",
        at_least(100),
    ),
    ConfigKey(
        "share.record.lock.duration.ms",
        INT,
        "30000",
        "How long a record that was delivered stays locked.",
        at_least(1000),
    ),
    ConfigKey(
        "share.renew.acknowledge.enable",
        BOOLEAN,
        "true",
        "Whether a member may prolong the lock of a record (KIP-1222).",
    ),
    ConfigKey(
        "share.session.timeout.ms",
        INT,
        "45000",
        "A member of the share group that is silent for this long is removed.",
        at_least(1),
    ),
)


@dataclass(frozen=True, slots=True)
class GroupBounds:
    """The broker settings that give a group setting its value and its limits."""

    default: str
    minimum: str
    maximum: str


def _bounds(kind: str, name: str) -> GroupBounds:
    return GroupBounds(
        f"group.{kind}.{name}", f"group.{kind}.min.{name}", f"group.{kind}.max.{name}"
    )


# A setting that is not here belongs to groups alone: the broker has neither a value nor limits.
GROUP_BOUNDS: Final = {
    f"{kind}.{name}": _bounds(kind, name)
    for kind, name in (
        ("consumer", "assignment.interval.ms"),
        ("consumer", "heartbeat.interval.ms"),
        ("consumer", "session.timeout.ms"),
        ("share", "assignment.interval.ms"),
        ("share", "delivery.count.limit"),
        ("share", "heartbeat.interval.ms"),
        ("share", "partition.max.record.locks"),
        ("share", "record.lock.duration.ms"),
        ("share", "session.timeout.ms"),
    )
}
