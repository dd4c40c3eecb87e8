"""A batch of records as the columns of a table, and the rows of it that no table could take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headrace.pipelines.connect.connectors.jdbc.fields import Fields
from headrace.pipelines.connect.connectors.jdbc.sink_settings import SinkSettings
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import Column, arrow_of
from headrace.pipelines.connect.model.schema import Schema, Type


@dataclass(frozen=True, slots=True)
class Arranged:
    """Rows of a batch by their number in it: those to write, those to delete, those refused."""

    writes: pa.Array
    deletes: pa.Array
    refused: Mapping[int, str]


def is_null(column: Column) -> NDArray[np.bool_]:
    """Which values are null."""
    if isinstance(column.data, list):
        return np.array([value is None for value in column.data], bool)
    return np.asarray(column.data.is_null())


def arranged(batch: Batch, settings: SinkSettings, connector: str) -> Arranged:
    """What each row asks for, by the rules of pk.mode and delete.enabled."""
    no_key, no_value = is_null(batch.key), is_null(batch.value)
    keyed = settings.pk_mode == "record_key"
    lacks_key = no_key & keyed
    bare = keyed or settings.pk_mode == "kafka"  # a row of the primary key alone has a meaning
    may_lack = settings.delete_enabled or (bare and batch.value.schema is None)
    lacks_value = no_value & ~lacks_key & (not may_lack)
    refused = {
        int(row): _lacking(batch, int(row), settings, connector, "key")
        for row in np.flatnonzero(lacks_key)
    } | {
        int(row): _lacking(batch, int(row), settings, connector, "value")
        for row in np.flatnonzero(lacks_value)
    }
    good = ~(lacks_key | lacks_value)
    gone = no_value & settings.delete_enabled
    return Arranged(
        pa.array(np.flatnonzero(good & ~gone)), pa.array(np.flatnonzero(good & gone)), refused
    )


def _lacking(batch: Batch, row: int, settings: SinkSettings, connector: str, part: str) -> str:
    """In the words in which Confluent's sink says what a record has to have."""
    wanted = "keys" if part == "key" else "values that are structs"
    schema = (batch.key if part == "key" else batch.value).schema
    time = None if batch.timestamps is None else batch.timestamps[row].as_py()
    return (
        f"The JDBC sink connector '{connector}' is configured with "
        f"'delete.enabled={str(settings.delete_enabled).lower()}' and 'pk.mode={settings.pk_mode}' "
        f"and therefore requires non-null record {wanted}, but found record at "
        f"(topic='{batch.topic}',partition={batch.partition},"
        f"offset={batch.positions[row].as_py()},timestamp={'null' if time is None else time}) "
        f"with a null {part} and {'null' if schema is None else schema.type.name} {part} schema."
    )


def columns(batch: Batch, fields: Fields, pk_mode: str, *, keys_only: bool) -> dict[str, pa.Array]:
    """The batch's values by column, as Arrow; DataException if Arrow cannot hold one."""
    rows = len(batch)
    made: dict[str, pa.Array] = {}
    if pk_mode == "kafka":
        topic, partition, offset = fields.keys
        made[topic] = pa.repeat(pa.scalar(batch.topic, pa.string()), rows)
        made[partition] = pa.repeat(pa.scalar(batch.partition, pa.int32()), rows)
        made[offset] = batch.positions
    elif pk_mode == "record_key":
        made |= _parts(batch.key, fields.keys)
    elif pk_mode == "record_value":
        made |= _parts(batch.value, fields.keys)
    if not keys_only and fields.others:
        made |= _parts(batch.value, fields.others)
    return made


def _parts(column: Column, names: tuple[str, ...]) -> dict[str, pa.Array]:
    """Fields of a struct by name, their defaults in the place of nulls; a value that is no struct
    under the only name."""
    schema = column.schema
    if schema is None:
        raise DataException("a record without a schema has no fields to write")
    data = column.to_arrow()
    if schema.type is not Type.STRUCT:
        (name,) = names
        return {name: _filled(schema, data)}
    parts = data.flatten()
    return {
        name: _filled(schema.fields[place].schema, parts[place])
        for name, place in ((name, schema.places[name]) for name in names)
    }


def _filled(schema: Schema, values: pa.Array) -> pa.Array:
    if schema.default is None or not values.null_count:
        return values
    return pc.fill_null(values, arrow_of(schema, [schema.default])[0])


def last_of_each(data: pa.RecordBatch, keys: tuple[str, ...]) -> pa.Array:
    """The numbers of the rows that no later row has the key of, in their order."""
    table = data.select(list(keys)).rename_columns([f"k{place}" for place in range(len(keys))])
    names = table.schema.names
    numbered = pa.Table.from_batches([table]).append_column("row", pa.array(np.arange(len(data))))
    last = numbered.group_by(names, use_threads=False).aggregate([("row", "max")])
    return pa.array(np.sort(last["row_max"].to_numpy()))
