"""InsertField: where a record comes from, when it was made, or a constant, as fields of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple

import pyarrow as pa

from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import ConfigException, DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.arrow_types import arrow_type
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.logical import timestamp_of
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Schema
from headrace.pipelines.connect.transforms.moment_columns import within
from headrace.pipelines.connect.transforms.moments import FIRST_MS, LAST_MS
from headrace.pipelines.connect.transforms.shapes import (
    REPLACE_NULL,
    SCHEMAS_KEPT,
    filled,
    joined,
    parted,
    require_map,
    require_struct,
    struct_like,
    values_of,
)
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.transform import Transform

_PURPOSE = "field insertion"
_OPTIONAL = (
    "A name that ends in ! makes the field required, one that ends in ? or neither optional."
)

_SCHEMAS: Final = {
    "topic": schemas.STRING,
    "partition": schemas.INT32,
    "offset": schemas.INT64,
    "timestamp": schemas.timestamp(),
    "static": schemas.STRING,
}


class _Inserted(NamedTuple):
    what: str
    field: str
    schema: Schema


class InsertField(Transform):
    """A null value stays as it is."""

    definition: ClassVar = Definition(
        (
            Key("topic.field", Kind.STRING, None, f"The field for the topic's name. {_OPTIONAL}"),
            Key("partition.field", Kind.STRING, None, f"The field for the partition. {_OPTIONAL}"),
            Key(
                "offset.field",
                Kind.STRING,
                None,
                f"The field for the offset, which only records of sinks have. {_OPTIONAL}",
            ),
            Key(
                "timestamp.field",
                Kind.STRING,
                None,
                f"The field for the record's timestamp. {_OPTIONAL}",
            ),
            Key("static.field", Kind.STRING, None, f"The field for static.value. {_OPTIONAL}"),
            Key("static.value", Kind.STRING, None, "The value of static.field."),
            REPLACE_NULL,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._side = side
        self._static = settings["static.value"]
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._inserted = [
            _inserted(what, name)
            for what in _SCHEMAS
            if isinstance(name := settings[f"{what}.field"], str)
        ]
        if not self._inserted:
            raise ConfigException("No field insertion configured")
        if self._inserted[-1].what == "static" and self._static is None:
            name = self._inserted[-1].field
            raise ConfigException.of(
                "static.value", None, f"No value specified for static field: {name}"
            )
        self._extended = lru_cache(SCHEMAS_KEPT)(self._struct)

    def _struct(self, schema: Schema) -> Schema:
        fields = [(field.name, field.schema) for field in schema.fields]
        return struct_like(schema, fields + [(new.field, new.schema) for new in self._inserted])

    def _value(self, what: str, record: Record) -> object:
        if what == "topic":
            return record.topic
        if what == "partition":
            return record.partition
        if what == "timestamp":
            return record.timestamp
        if what == "static":
            return self._static
        if self.for_sink:
            return record.position
        raise DataException(
            f"Only SinkRecord supported for [{_PURPOSE}], "
            "found: org.apache.kafka.connect.source.SourceRecord"
        )

    def apply(self, record: Record) -> Record:
        value = self._side.held(record)
        if value is None:
            return record
        if self._side.schema(record) is None:
            made = dict(require_map(value, _PURPOSE))
            for new in self._inserted:
                item = self._value(new.what, record)
                if item is not None:
                    made[new.field] = item
            return self._side.changed(record, None, made)
        held = require_struct(value, _PURPOSE)
        schema = self._extended(held.schema)
        before = filled(held.schema, values_of(held, replace_null=self._replace_null))
        values = before.values + [self._field_value(new, record) for new in self._inserted]
        return self._side.changed(record, schema, schemas.Struct(schema, values))

    def _field_value(self, new: _Inserted, record: Record) -> object:
        value = self._value(new.what, record)
        if new.what == "timestamp" and isinstance(value, int):
            return timestamp_of(value)
        return value

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        arrays = parted(column, replace_null=self._replace_null)
        if arrays is None or column.schema is None:
            return None
        if not self._can_insert(batch):
            return None
        schema = self._extended(column.schema)
        new = [self._array(each, batch) for each in self._inserted]
        made = zip(new, self._inserted, strict=True)
        if any(array.null_count and not each.schema.optional for array, each in made):
            return None
        return [self._side.with_column(batch, joined(schema, arrays + new, len(batch)))]

    def _can_insert(self, batch: Batch) -> bool:
        """Whether no row can be at fault for what is inserted."""
        what = {new.what for new in self._inserted}
        if "offset" in what and not self.for_sink:
            return False
        times = batch.timestamps if "timestamp" in what else None
        return times is None or within(times, FIRST_MS, LAST_MS)

    def _array(self, new: _Inserted, batch: Batch) -> pa.Array:
        kind = arrow_type(new.schema)
        if new.what == "timestamp" and batch.timestamps is not None:
            return batch.timestamps.cast(kind)
        if new.what == "offset":
            return batch.positions
        fixed = {"topic": batch.topic, "partition": batch.partition, "static": self._static}
        return pa.repeat(pa.scalar(fixed.get(new.what), kind), len(batch))


def _inserted(what: str, name: str) -> _Inserted:
    optional = not name.endswith("!")
    field = name[:-1] if name.endswith(("!", "?")) else name
    return _Inserted(what, field, _SCHEMAS[what].but(optional=optional))
