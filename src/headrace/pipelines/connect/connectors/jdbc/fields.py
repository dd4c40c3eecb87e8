"""Which columns a record writes: its key's, its value's, in the order in which a table gets them.

The order of a new table's columns is the order of a Java HashMap's keys, as in the tables that
Confluent's connector has created ever since.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from headrace.java.hash_order import hash_map_order
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import Schema, Type

KAFKA_FIELDS: Final = ("__connect_topic", "__connect_partition", "__connect_offset")


@dataclass(frozen=True, slots=True)
class SinkField:
    """A column that records have a value for."""

    name: str
    schema: Schema
    primary_key: bool = False

    @property
    def optional(self) -> bool:
        """Whether the column takes null."""
        return not self.primary_key and self.schema.optional

    def __str__(self) -> str:
        kind = self.schema.type.name
        named = f"{self.schema.name}:{kind}" if self.schema.name else kind
        key = str(self.primary_key).lower()
        return (
            f"SinkRecordField{{schema=Schema{{{named}}}, name='{self.name}', isPrimaryKey={key}}}"
        )


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns of a table's records: those of the primary key, the others, and all in order."""

    keys: tuple[str, ...]
    others: tuple[str, ...]
    all: tuple[SinkField, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Every column, those of the primary key first."""
        return self.keys + self.others


def fields_of(
    table: str,
    pk_mode: str,
    pk_fields: Sequence[str],
    whitelist: Collection[str],
    key: Schema | None,
    value: Schema | None,
) -> Fields:
    """The columns for records of these schemas; ConnectException if they have not what is set."""
    if value is not None and value.type is not Type.STRUCT:
        raise ConnectException("Value schema must be of type Struct")
    made = {field.name: field for field in _keys(table, pk_mode, pk_fields, key, value)}
    keys = tuple(made)
    others = tuple(
        field.name
        for field in (value.fields if value is not None else ())
        if field.name not in made and (not whitelist or field.name in whitelist)
    )
    if value is not None:
        made |= {name: SinkField(name, value.fields[value.places[name]].schema) for name in others}
    if not made:
        raise ConnectException(f"No fields found using key and value schemas for table: {table}")
    return Fields(keys, others, tuple(made[name] for name in hash_map_order(made)))


def _keys(
    table: str, mode: str, named: Sequence[str], key: Schema | None, value: Schema | None
) -> list[SinkField]:
    if mode == "kafka":
        return _kafka(table, named)
    if mode == "record_key":
        return _record_key(table, named, key)
    if mode == "record_value":
        if value is None:
            raise ConnectException(
                f"PK mode for table '{table}' is RECORD_VALUE, but record value schema is missing"
            )
        return _parts(table, "RECORD_VALUE", "value", named, value)
    return []


def _kafka(table: str, named: Sequence[str]) -> list[SinkField]:
    if len(named) not in (0, len(KAFKA_FIELDS)):
        raise ConnectException(
            f"PK mode for table '{table}' is KAFKA so there should either be no field names defined"
            f" for defaults [{', '.join(KAFKA_FIELDS)}] to be applicable, or exactly 3, defined "
            f"fields are: [{', '.join(named)}]"
        )
    kinds = (schemas.STRING, schemas.INT32, schemas.INT64)
    names = named or KAFKA_FIELDS
    return [SinkField(name, kind, True) for name, kind in zip(names, kinds, strict=True)]


def _record_key(table: str, named: Sequence[str], key: Schema | None) -> list[SinkField]:
    if key is None:
        raise ConnectException(
            f"PK mode for table '{table}' is RECORD_KEY, but record key schema is missing"
        )
    if key.type is Type.STRUCT:
        return _parts(table, "RECORD_KEY", "key", named, key)
    if not key.type.is_primitive:
        raise ConnectException(
            f"Key schema must be primitive type or Struct, but is of type: {key.type.name}"
        )
    if len(named) != 1:
        raise ConnectException(
            "Need exactly one PK column defined since the key schema for records is a primitive "
            f"type, defined columns are: [{', '.join(named)}]"
        )
    return [SinkField(named[0], key, True)]


def _parts(
    table: str, mode: str, part: str, named: Sequence[str], schema: Schema
) -> list[SinkField]:
    for name in named:
        if name not in schema.places:
            raise ConnectException(
                f"PK mode for table '{table}' is {mode} with configured PK fields "
                f"[{', '.join(named)}], but record {part} schema does not contain field: {name}"
            )
    names = named or [field.name for field in schema.fields]
    return [SinkField(name, schema.fields[schema.places[name]].schema, True) for name in names]
