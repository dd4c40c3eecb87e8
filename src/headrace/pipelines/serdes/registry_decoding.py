"""A column of framed values to a column of the reader's type: group by schema, decode, put back.

A batch nearly always has one schema, and is then decoded as it lies. With several, each group is
decoded for itself, and the rows are brought back into their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import numpy as np
import pyarrow as pa

from headrace.client.registry import RegistrySettings
from headrace.client.registry.cache import Cache
from headrace.errors import CorruptData
from headrace.pipelines.serdes.modes import Mode
from headrace.pipelines.serdes.registry_clients import SchemaKey, client_of, writer_schema
from headrace.pipelines.serdes.registry_formats import (
    ColumnDecoder,
    Indexes,
    Plan,
    ProtobufPlan,
)
from headrace.pipelines.serdes.registry_frames import Frames, Group, by_message, read_frames
from headrace.pipelines.serdes.spans import BadValue, Spans
from headrace.schemas.model import InvalidValue

MAX_DECODERS: Final = 1000
_REMEDY: Final = (
    "Check that the column holds what a registry's serializer wrote, and that the url is that of "
    "its registry. mode='PERMISSIVE' makes such values null; dead_letter=True gives the reason "
    "beside them"
)

_decoders: Final[Cache[tuple[str, SchemaKey, Indexes | None], ColumnDecoder]] = Cache(MAX_DECODERS)


@dataclass(frozen=True)
class RegistryDecoder:
    """Turns a column of framed bytes into a column of `type`; travels to Spark's workers."""

    settings: RegistrySettings
    plan: Plan
    mode: Mode
    identity: str = field(default_factory=lambda: uuid4().hex)
    """A decoder arrives in a worker anew with every task; what was made for it is found by this."""

    @property
    def type(self) -> pa.DataType:
        if self.mode is not Mode.DEAD_LETTER:
            return self.plan.type
        return pa.struct({"value": self.plan.type, "error": pa.string()})

    def decode(self, values: pa.Array, headers: pa.Array | None = None) -> pa.Array:
        """The column in the form that the mode asks for."""
        frames = read_frames(values, headers)
        bad = list(frames.bad)
        parts = list(self._decoded(frames, bad))
        if bad and self.mode is Mode.FAILFAST:
            worst = min(bad, key=lambda each: each.row)
            raise CorruptData(f"row {worst.row} of the batch cannot be decoded: {worst}. {_REMEDY}")
        decoded = _put_back(parts, len(values), self.plan.type)
        if self.mode is not Mode.DEAD_LETTER:
            return decoded
        errors: list[str | None] = [None] * len(values)
        for each in bad:
            errors[each.row] = str(each)
        columns = [decoded, pa.array(errors, pa.string())]
        return pa.StructArray.from_arrays(columns, ["value", "error"])

    def _decoded(self, frames: Frames, bad: list[BadValue]) -> Iterator[tuple[Group, pa.Array]]:
        for indexes, group in self._groups(frames, bad):
            try:
                decoder = self._decoder(group.key, indexes)
            except InvalidValue as error:
                expected = "a schema that can be read"
                bad += (BadValue(row, 0, "", expected, str(error)) for row in group.rows.tolist())
                continue
            rows = np.stack([group.starts, frames.spans.rows[group.rows, 1]], axis=1)
            spans = Spans(frames.spans.data, rows)
            yield group, decoder.decode(spans, _moved(group, frames, bad))

    def _groups(
        self, frames: Frames, bad: list[BadValue]
    ) -> Iterator[tuple[Indexes | None, Group]]:
        for group in frames.groups:
            if isinstance(self.plan, ProtobufPlan):
                yield from by_message(frames, group, bad)
            else:
                yield None, group

    def _decoder(self, key: SchemaKey, indexes: Indexes | None) -> ColumnDecoder:
        place = (self.identity, key, indexes)
        known = _decoders.get(place)
        if known is not None:
            return known
        writer = writer_schema(self.settings, key)
        return _decoders.put(place, self.plan.reader_of(client_of(self.settings), writer, indexes))


def _moved(group: Group, frames: Frames, bad: list[BadValue]) -> Callable[[BadValue], None]:
    """Take reports about a group's rows as reports about the batch's, frames included."""

    def report(value: BadValue) -> None:
        row = int(group.rows[value.row])
        before = int(group.starts[value.row] - frames.spans.rows[row, 0])
        bad.append(value._replace(row=row, position=value.position + before))

    return report


def _put_back(parts: list[tuple[Group, pa.Array]], count: int, type_: pa.DataType) -> pa.Array:
    """The decoded groups as one column; rows that no group has are null."""
    if len(parts) == 1 and len(parts[0][0].rows) == count:
        return parts[0][1]
    arrays = [array for _, array in parts]
    places = np.full(count, -1, dtype=np.int64)
    at = 0
    for group, array in parts:
        places[group.rows] = np.arange(at, at + len(array))
        at += len(array)
    missing = places < 0
    places[missing] = at
    arrays.append(pa.nulls(1, type_))
    return pa.concat_arrays(arrays).take(pa.array(places))
