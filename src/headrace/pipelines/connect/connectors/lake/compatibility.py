"""One schema for many records: `schema.compatibility`, and Connect's projection of values.

NONE lets each schema begin its own files. Otherwise the version decides: BACKWARD and FULL go over
to a newer schema and write older records under it, FORWARD goes over to an older one.
"""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.faults import SchemaProjectorException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.column import of_values
from headrace.pipelines.connect.model.schema import Schema, Struct, Type

_PROMOTED: Final = (
    Type.INT8,
    Type.INT16,
    Type.INT32,
    Type.INT64,
    Type.FLOAT32,
    Type.FLOAT64,
)


class Compatibility:
    """The schema that the records of a partition are written under."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._current: Schema | None = None

    def projected(self, batch: Batch) -> Batch:
        """The batch under the schema of the moment; SchemaProjectorException if it cannot be."""
        given = batch.value.schema
        if self._mode == "NONE" or given is None:
            return batch
        if self._current is None or self._changes(given, self._current):
            self._current = given
        if given == self._current:
            return batch
        target = self._current
        values = [project(given, value, target) for value in batch.value.to_values()]
        return batch.but(value=of_values(target, values))

    def _changes(self, given: Schema, current: Schema) -> bool:
        if given.version is None or current.version is None:
            raise SchemaProjectorException(
                f"Schema version required for {self._mode} compatibility"
            )
        if self._mode == "FORWARD":
            return given.version < current.version
        return given.version > current.version


def project(source: Schema, value: object, target: Schema) -> object:
    """A value of one schema as a value of another, by Connect's rules."""
    if source.optional and not target.optional:
        if target.default is None:
            raise SchemaProjectorException(
                "Writer schema is optional, however, target schema does not provide a default "
                "value."
            )
        return target.default if value is None else _required(source, value, target)
    return None if value is None else _required(source, value, target)


def _required(source: Schema, value: object, target: Schema) -> object:
    _check(source, target)
    if isinstance(value, Struct):
        return _struct(value, target)
    if isinstance(value, list):
        return [project(source.item, item, target.item) for item in value]
    if isinstance(value, dict):
        return {
            project(source.key, key, target.key): project(source.item, item, target.item)
            for key, item in value.items()
        }
    if target.type in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, int):
        return float(value)
    return value


def _struct(value: Struct, target: Schema) -> Struct:
    made = Struct(target)
    for place, field in enumerate(target.fields):
        given = value.schema.field(field.name)
        if given is not None:
            made.values[place] = project(given.schema, value.given(field.name), field.schema)
        elif field.schema.default is not None:
            made.values[place] = field.schema.default
        elif not field.schema.optional:
            raise SchemaProjectorException(
                f"Required field `{field.name}` is missing from source schema: {value.schema.name}"
            )
    return made


def _check(source: Schema, target: Schema) -> None:
    if source.type is not target.type and not _promotes(source.type, target.type):
        raise SchemaProjectorException(
            f"Schema type mismatch. source type: {source.type.name} and target type: "
            f"{target.type.name}"
        )
    if source.name != target.name:
        raise SchemaProjectorException(
            f"Schema name mismatch. source name: {source.name} and target name: {target.name}"
        )
    if (source.parameters or {}) != (target.parameters or {}):
        raise SchemaProjectorException(
            f"Schema parameters not equal. source parameters: {source.parameters} and target "
            f"parameters: {target.parameters}"
        )


def _promotes(source: Type, target: Type) -> bool:
    both = source in _PROMOTED and target in _PROMOTED
    return both and _PROMOTED.index(source) <= _PROMOTED.index(target)
