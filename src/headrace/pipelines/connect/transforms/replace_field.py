"""ReplaceField: fields left out, kept or renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from headrace.java.hash_order import hash_map_order
from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.model.schema import Field, Schema, check
from headrace.pipelines.connect.transforms.lists import as_list, names_or_none, pairs
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

_PURPOSE = "field replacement"


def _check_renames(name: str, value: object) -> None:
    pairs(name, as_list(value))


class ReplaceField(Transform):
    """A null value stays as it is."""

    definition: ClassVar = Definition(
        (
            Key(
                "exclude",
                Kind.LIST,
                [],
                "Fields to leave out, even if they are to be included.",
                check=names_or_none,
            ),
            Key(
                "include",
                Kind.LIST,
                [],
                "Fields to keep. If there are any here, all others are left out.",
                check=names_or_none,
            ),
            Key(
                "renames",
                Kind.LIST,
                [],
                "Fields and their new names, as in foo:bar,abc:xyz.",
                check=_check_renames,
            ),
            REPLACE_NULL,
        )
    )

    def __init__(self, side: Side, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._side = side
        self._exclude = set(as_list(settings["exclude"]))
        self._include = set(as_list(settings["include"]))
        self._names = pairs("renames", as_list(settings["renames"]))
        # Of fields that get the same name, Kafka takes the one that its map of names has last.
        self._former = {self._names[old]: old for old in hash_map_order(self._names)}
        self._replace_null = bool(settings[REPLACE_NULL.name])
        self._replaced = lru_cache(SCHEMAS_KEPT)(self._plan)

    def _keeps(self, field: str) -> bool:
        return field not in self._exclude and (not self._include or field in self._include)

    def _plan(self, schema: Schema) -> tuple[Schema, list[int], list[tuple[Field, Schema]]]:
        """The schema made, which field of the old one each of its fields is, and those that get
        the value of a field with another schema, and which."""
        made = struct_like(
            schema,
            [
                (self._names.get(field.name, field.name), field.schema)
                for field in schema.fields
                if self._keeps(field.name)
            ],
        )
        former = [self._former.get(field.name, field.name) for field in made.fields]
        for name in former:
            if name not in schema.places:
                raise DataException(f"{name} is not a valid field name")
        places = [schema.places[name] for name in former]
        foreign = [
            (field, held)
            for field, held in zip(
                made.fields, (schema.fields[p].schema for p in places), strict=True
            )
            if held != field.schema
        ]
        return made, places, foreign

    def apply(self, record: Record) -> Record:
        value = self._side.held(record)
        if value is None:
            return record
        if self._side.schema(record) is None:
            chosen = {
                self._names.get(name, name): item
                for name, item in require_map(value, _PURPOSE).items()
                if self._keeps(name)
            }
            return self._side.changed(record, None, chosen)
        held = require_struct(value, _PURPOSE)
        made, places, foreign = self._replaced(held.schema)
        values = values_of(held, replace_null=self._replace_null)
        kept = filled(made, [values[place] for place in places])
        for field, held_as in foreign:
            item = kept.given(field.name)
            if item is not None and held_as.type is not field.schema.type:
                raise DataException(
                    f"a value of {held_as.type.name} for the field {field.name} of "
                    f"{field.schema.type.name}: two fields are renamed to {field.name}"
                )
            check(field.schema, item, field.name)
        return self._side.changed(record, made, kept)

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        column = self._side.column(batch)
        arrays = parted(column, replace_null=self._replace_null)
        if arrays is None or column.schema is None:
            return None
        made, places, foreign = self._replaced(column.schema)
        if foreign:
            return None
        kept = joined(made, [arrays[place] for place in places], len(batch))
        return [self._side.with_column(batch, kept)]
