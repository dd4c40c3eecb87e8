"""What the offset topic says: where each partition of each source stands.

A partition is a map, and two maps that are equal may have been written with their fields in
different orders, as different keys. A partition that is known is therefore written under the key
that it was read with: compaction then keeps one record of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.batch import Position
from headrace.pipelines.connect.state import json_text, records
from headrace.pipelines.connect.state.records import Write


@dataclass(frozen=True, slots=True)
class _Known:
    key: bytes
    partition: Mapping[str, object]
    offset: Mapping[str, object] | None


class OffsetLog:
    """The state after every record that was replayed."""

    def __init__(self) -> None:
        self._connectors: dict[str, dict[bytes, _Known]] = {}

    def replay(self, key: bytes | None, value: bytes | None) -> None:
        """Take a record into the state; one that is no offset is passed over."""
        place = _place(key)
        if key is None or place is None:
            return
        connector, partition = place
        try:
            told = None if value is None else json_text.decode(value)
        except DataException:
            return
        offset = told if isinstance(told, dict) else None
        try:
            identity = _identity(partition)
        except RecursionError:  # lists in lists, deeper than whoever wrote them could read back
            return
        known = self._connectors.setdefault(connector, {})
        known[identity] = _Known(key, partition, offset)

    def offset(self, connector: str, partition: Position) -> Mapping[str, object] | None:
        """Where a partition stands; None if that was never said, or taken back."""
        known = self._connectors.get(connector, {}).get(_identity(partition))
        return None if known is None else known.offset

    def offsets(self, connector: str) -> list[tuple[Mapping[str, object], Mapping[str, object]]]:
        """Every partition of a connector that stands somewhere, and where."""
        known = self._connectors.get(connector, {}).values()
        return [(each.partition, each.offset) for each in known if each.offset is not None]

    def writes(
        self, connector: str, offsets: Iterable[tuple[Position, Position | None]]
    ) -> list[Write]:
        """The records that say where these partitions stand; None: at their beginning."""
        known = self._connectors.get(connector, {})
        made = []
        for partition, offset in offsets:
            found = known.get(_identity(partition))
            key = records.offset_key(connector, partition) if found is None else found.key
            made.append((key, records.offset_value(offset)))
        return made

    def resets(self, connector: str) -> list[Write]:
        """The records after which no partition of a connector stands anywhere."""
        known = self._connectors.get(connector, {}).values()
        return [(each.key, None) for each in known if each.offset is not None]


def _place(key: bytes | None) -> tuple[str, dict[str, object]] | None:
    try:
        told = None if key is None else json_text.decode(key)
    except DataException:
        return None
    if isinstance(told, list) and len(told) == 2:
        connector, partition = told
        if isinstance(connector, str) and isinstance(partition, dict):
            return connector, partition
    return None


def _identity(partition: Position) -> bytes:
    return json_text.encode(dict(sorted(partition.items())))
