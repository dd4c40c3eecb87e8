"""Offsets that somebody alters or resets: what must be true first, and what was asked for.

A source's offsets are maps that only its connector understands; a sink's are those of its consumer
group, by topic and partition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from headrace.pipelines.connect.faults import BadRequestException
from headrace.pipelines.connect.herder.decisions import known
from headrace.pipelines.connect.state.config_log import Snapshot
from headrace.pipelines.connect.state.records import TargetState

Asked: TypeAlias = Sequence[tuple[Mapping[str, object] | None, Mapping[str, object] | None]]
"""Partitions and their offsets as a request has them."""

TOPIC: Final = "kafka_topic"
PARTITION: Final = "kafka_partition"
OFFSET: Final = "kafka_offset"

_INT_BITS: Final = 31
_LONG_BITS: Final = 63
_EXTERNAL: Final = (
    "However, if this connector manages offsets externally, they will need to be manually {verb} "
    "in the system that the connector uses."
)
ALTERED: Final = (
    "The Connect framework-managed offsets for this connector have been altered successfully. "
    + _EXTERNAL.format(verb="altered")
)
RESET: Final = (
    "The Connect framework-managed offsets for this connector have been reset successfully. "
    + _EXTERNAL.format(verb="reset")
)


def modifiable(snapshot: Snapshot, name: str) -> None:
    """A connector's offsets may change while nothing of it runs."""
    known(snapshot, name)
    stopped = snapshot.target_states.get(name) is TargetState.STOPPED
    if not stopped or snapshot.task_counts.get(name, 0):
        raise BadRequestException(
            "Connectors must be in the STOPPED state before their offsets can be modified. This "
            "can be done for the specified connector by issuing a 'PUT' request to the "
            f"'/connectors/{name}/stop' endpoint"
        )


def some(asked: Asked | None) -> Asked:
    """What a request asks for, if anything."""
    if not asked:
        raise BadRequestException(
            "Partitions / offsets need to be provided for an alter offsets request"
        )
    return asked


def of_sink(asked: Asked) -> dict[tuple[str, int], int | None]:
    """A sink's offsets by topic and partition; None takes the group's offset away."""
    return {_place(partition): _offset(offset) for partition, offset in asked}


def _place(partition: Mapping[str, object] | None) -> tuple[str, int]:
    if partition is None:
        raise BadRequestException(
            "The partition for a sink connector offset cannot be null or missing"
        )
    if TOPIC not in partition or PARTITION not in partition:
        raise BadRequestException(
            f"The partition for a sink connector offset must contain the keys '{TOPIC}' and "
            f"'{PARTITION}'"
        )
    topic, number = partition[TOPIC], partition[PARTITION]
    if topic is None:
        raise BadRequestException("Kafka topic names must be valid strings and may not be null")
    if number is None:
        raise BadRequestException("Kafka partitions must be valid numbers and may not be null")
    read = _integer(number, _INT_BITS)
    if read is None:
        raise BadRequestException(
            f"Failed to parse the following Kafka partition value in the provided offsets: "
            f"'{_java(number)}'. Partition values for sink connectors need to be integers."
        )
    return _java(topic), read


def _offset(offset: Mapping[str, object] | None) -> int | None:
    if offset is None:
        return None
    if OFFSET not in offset:
        raise BadRequestException(
            f"The offset for a sink connector should either be null or contain the key '{OFFSET}'"
        )
    read = _integer(offset[OFFSET], _LONG_BITS)
    if read is None:
        raise BadRequestException(
            f"Failed to parse the following Kafka offset value in the provided offsets: "
            f"'{_java(offset[OFFSET])}'. Offset values for sink connectors need to be integers."
        )
    return read


def _java(value: object) -> str:
    """A value of JSON as Java prints it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _integer(value: object, bits: int) -> int | None:
    """A number, or text that is one, within bits and a sign."""
    text = str(value)
    digits = text[1:] if text[:1] in ("+", "-") else text
    if isinstance(value, bool) or not (digits.isascii() and digits.isdigit()):
        return None
    read = int(text)
    return read if -(1 << bits) <= read < 1 << bits else None
