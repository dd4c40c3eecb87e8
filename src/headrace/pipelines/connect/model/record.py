"""One record on its way: what transforms and user code see of a row.

`position` numbers the record within what was polled (a source) or is its Kafka offset (a sink). A
transform passes it on: by it the host knows which records have left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.schema import Schema, Struct


@dataclass(frozen=True, slots=True)
class Header:
    """A header's name, and its value with a schema."""

    name: str
    value: object
    schema: Schema | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A key and a value with their schemas, bound for a topic or come from one.

    `record["field"]` reads a field of the value, `record.replace(field=…)` is the record with
    fields of its value replaced, `record.but(topic=…)` with other attributes.
    """

    topic: str
    value: object
    value_schema: Schema | None = None
    key: object = None
    key_schema: Schema | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: tuple[Header, ...] = ()
    position: int = 0

    def but(self, **changes: object) -> Record:
        """The same record with other attributes."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def __getitem__(self, field: str) -> object:
        if isinstance(self.value, Struct | dict):
            return self.value[field]
        raise DataException(f"a value without fields has no field {field}: {self.value!r}")

    def replace(self, **fields: object) -> Record:
        """The record with these fields of its value replaced."""
        if isinstance(self.value, dict):
            return self.but(value=self.value | fields)
        if not isinstance(self.value, Struct):
            raise DataException(
                f"a value without fields cannot have fields replaced: {self.value!r}"
            )
        made = Struct(self.value.schema, self.value.values)
        for name, value in fields.items():
            made.put(name, value)
        return self.but(value=made)
