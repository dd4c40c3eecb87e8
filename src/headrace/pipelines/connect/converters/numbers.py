"""One number or truth value per record: Kafka's serializers of short, integer, long, float, double
and boolean."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
import pyarrow as pa

from headrace.pipelines.connect.config.definition import Definition
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.settings import BASIC
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.column import Column
from headrace.pipelines.connect.model.schema import INTEGER_BITS, Float32, Schema, Type

DEFINITION: Final[Definition] = BASIC


@dataclass(frozen=True, slots=True)
class _Number:
    """How a number is written: its name in messages, its schema, its format."""

    name: str
    type: Type
    format: str  # of struct and of numpy

    @property
    def schema(self) -> Schema:
        return Schema(self.type, optional=True)

    @property
    def width(self) -> int:
        return struct.calcsize(self.format)


class NumberConverter(Converter):
    """A number, highest byte first."""

    number: ClassVar[_Number]

    def __init__(self, given: Mapping[str, object]) -> None:
        DEFINITION.read(given)
        self._schema = self.number.schema

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The number's bytes."""
        if value is None:
            return None
        if not self._takes(schema, value):
            found = schema.type.name if schema is not None else type(value).__name__
            raise DataException(f"Failed to serialize to {self.number.name} (was {found}): ")
        return struct.pack(self.number.format, value)

    def _takes(self, schema: Schema | None, value: object) -> bool:
        kind = self.number.type
        if schema is not None and (schema.type is not kind or schema.name in _LOGICAL):
            return False
        bits = INTEGER_BITS.get(kind)
        if bits is not None:
            return type(value) is int and -(1 << bits - 1) <= value < 1 << bits - 1
        narrow = isinstance(value, Float32)
        wide = isinstance(value, float) and not narrow
        return (narrow or (wide and schema is not None)) if kind is Type.FLOAT32 else wide

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """The number of its bytes."""
        if data is None:
            return self._schema, None
        if len(data) != self.number.width:
            told = f"{len(data)} bytes, where {self.number.width} are a {self.number.name}"
            raise DataException(f"Failed to deserialize {self.number.name}: {told}")
        return self._schema, struct.unpack(self.number.format, data)[0]

    def decode_column(self, topic: str, data: pa.Array) -> Sequence[Column]:
        """All numbers at once, where every row is as long as one."""
        rows, width = len(data), self.number.width
        if not rows or data.null_count or not pa.types.is_binary(data.type):
            return super().decode_column(topic, data)
        offsets = np.frombuffer(data.buffers()[1], np.int32, rows + 1, data.offset * 4)
        if not (np.diff(offsets) == width).all():
            return super().decode_column(topic, data)
        numbers = np.frombuffer(data.buffers()[2], self.number.format, rows, int(offsets[0]))
        native = numbers.astype(numbers.dtype.newbyteorder("="))
        return [Column(self._schema, pa.array(native))]


_LOGICAL: Final = frozenset((schemas.DATE, schemas.TIME, schemas.TIMESTAMP))


class ShortConverter(NumberConverter):
    """INT16."""

    number = _Number("short", Type.INT16, ">h")


class IntegerConverter(NumberConverter):
    """INT32."""

    number = _Number("integer", Type.INT32, ">i")


class LongConverter(NumberConverter):
    """INT64."""

    number = _Number("long", Type.INT64, ">q")


class FloatConverter(NumberConverter):
    """FLOAT32."""

    number = _Number("float", Type.FLOAT32, ">f")


class DoubleConverter(NumberConverter):
    """FLOAT64."""

    number = _Number("double", Type.FLOAT64, ">d")


class BooleanConverter(Converter):
    """A byte: 1 is true, 0 is false."""

    schema: ClassVar[Schema] = Schema(Type.BOOLEAN, optional=True)

    def __init__(self, given: Mapping[str, object]) -> None:
        DEFINITION.read(given)

    def encode(self, topic: str, schema: Schema | None, value: object) -> bytes | None:
        """The byte."""
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataException(f"Invalid schema type for BooleanConverter: {schema.type.name}")
        if value is None:
            return None
        if not isinstance(value, bool):
            found = type(value).__name__
            raise DataException(f"BooleanConverter is not compatible with objects of type {found}")
        return b"\x01" if value else b"\x00"

    def decode(self, topic: str, data: bytes | None) -> tuple[Schema | None, object]:
        """What the byte says."""
        if data is None:
            return self.schema, None
        if data not in (b"\x00", b"\x01"):
            raise DataException("Failed to deserialize boolean: it is one byte, 0 or 1")
        return self.schema, data == b"\x01"
