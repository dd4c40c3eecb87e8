"""A report of a client: OpenTelemetry's MetricsData, version 1, in protobuf.

Only what KIP-714 uses is read: sums and gauges with numbers, and their attributes. Everything else
is skipped, as protobuf wants it.

    MetricsData { 1: ResourceMetrics { 2: ScopeMetrics { 2: Metric } } }
    Metric { 1: name, 5: Gauge { 1: point }, 7: Sum { 1: point, 2: temporality, 3: is monotonic } }
    NumberDataPoint { 4: double, 6: sfixed64, 7: KeyValue { 1: key, 2: AnyValue } }
    AnyValue { 1: string, 2: bool, 3: int, 4: double }
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from headrace.errors import CorruptData

_DOUBLE: Final = Struct("<d")
_SFIXED64: Final = Struct("<q")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DELTA: Final = 1
_MAX_POINTS: Final = 5_000
_MAX_FIELDS: Final = 200_000

Field = tuple[int, int, memoryview, int]
"""Number, wire type, bytes (empty for a varint), varint."""


@dataclass(frozen=True, slots=True)
class Point:
    """One number of a report."""

    name: str
    value: float
    labels: tuple[tuple[str, str], ...]
    is_counter: bool
    """It only grows."""
    is_delta: bool
    """It is what came since the last report."""


def points(report: bytes) -> Iterator[Point]:
    """The numbers of a report; CorruptData if it is none."""
    reader = _Reader()
    count = 0
    try:
        for point in reader.points(memoryview(report)):
            yield point
            count += 1
            if count > _MAX_POINTS:
                raise CorruptData(f"a report of more than {_MAX_POINTS} numbers")
    except (UnicodeDecodeError, IndexError) as fault:
        raise CorruptData(f"no report of metrics: {fault}") from None


class _Reader:
    """The messages of a report, one method each, and protobuf's fields."""

    def __init__(self) -> None:
        self._fields_left = _MAX_FIELDS

    def points(self, report: memoryview) -> Iterator[Point]:
        for resource in self._messages(report, 1):
            for scope in self._messages(resource, 2):
                for metric in self._messages(scope, 2):
                    yield from self._metric(metric)

    def _metric(self, metric: memoryview) -> Iterator[Point]:
        name = ""
        for number, _, data, _ in self._fields(metric):
            if number == 1:
                name = str(data, "utf-8")
        for number, _, data, _ in self._fields(metric):
            if number == 5:
                for point in self._messages(data, 1):
                    yield self._point(name, point, is_counter=False, is_delta=False)
            elif number == 7:
                told = {
                    field: value for field, kind, _, value in self._fields(data) if kind == _VARINT
                }
                for point in self._messages(data, 1):
                    yield self._point(
                        name, point, is_counter=bool(told.get(3)), is_delta=told.get(2) == _DELTA
                    )

    def _point(self, name: str, point: memoryview, *, is_counter: bool, is_delta: bool) -> Point:
        value = 0.0
        labels = []
        for number, kind, data, _ in self._fields(point):
            if number == 4 and kind == _FIXED64:
                (value,) = _DOUBLE.unpack(data)
            elif number == 6 and kind == _FIXED64:
                (value,) = _SFIXED64.unpack(data)
            elif number == 7:
                labels.append(self._key_value(data))
        return Point(name, value, tuple(sorted(labels)), is_counter, is_delta)

    def _key_value(self, data: memoryview) -> tuple[str, str]:
        key, value = "", ""
        for number, _, inner, _ in self._fields(data):
            if number == 1:
                key = str(inner, "utf-8")
            elif number == 2:
                value = self._any_value(inner)
        return key, value

    def _any_value(self, data: memoryview) -> str:
        for number, kind, inner, varint in self._fields(data):
            if number == 1 and kind == _BYTES:
                return str(inner, "utf-8")
            if number == 2:
                return "true" if varint else "false"
            if number == 3 and kind == _VARINT:
                return str(varint - (1 << 64) if varint >> 63 else varint)
            if number == 4 and kind == _FIXED64:
                return str(_DOUBLE.unpack(inner)[0])
        return ""

    def _messages(self, data: memoryview, wanted: int) -> Iterator[memoryview]:
        for number, kind, inner, _ in self._fields(data):
            if number == wanted and kind == _BYTES:
                yield inner

    def _fields(self, data: memoryview) -> Iterator[Field]:
        position = 0
        end = len(data)
        nothing = data[:0]
        while position < end:
            self._fields_left -= 1
            if self._fields_left < 0:
                raise CorruptData(f"a report of more than {_MAX_FIELDS} fields")
            tag, position = _varint(data, position)
            kind = tag & 7
            if kind == _VARINT:
                value, position = _varint(data, position)
                yield tag >> 3, kind, nothing, value
                continue
            if kind == _BYTES:
                size, position = _varint(data, position)
            elif kind == _FIXED64:
                size = 8
            elif kind == _FIXED32:
                size = 4
            else:
                raise CorruptData(f"a field of a report has the unknown wire type {kind}")
            if position + size > end:
                raise CorruptData("a report ends in the middle of a field")
            yield tag >> 3, kind, data[position : position + size], 0
            position += size


def _varint(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, position
        shift += 7
        if shift > 63:
            raise CorruptData("a number of a report has more than ten bytes")
