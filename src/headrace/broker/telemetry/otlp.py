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
    count = 0
    try:
        for resource in _messages(memoryview(report), 1):
            for scope in _messages(resource, 2):
                for metric in _messages(scope, 2):
                    for point in _metric(metric):
                        yield point
                        count += 1
                        if count > _MAX_POINTS:
                            raise CorruptData(f"a report of more than {_MAX_POINTS} numbers")
    except (UnicodeDecodeError, IndexError) as fault:
        raise CorruptData(f"no report of metrics: {fault}") from None


def _metric(metric: memoryview) -> Iterator[Point]:
    name = ""
    for number, _, data, _ in _fields(metric):
        if number == 1:
            name = str(data, "utf-8")
    for number, _, data, _ in _fields(metric):
        if number == 5:
            for point in _messages(data, 1):
                yield _point(name, point, is_counter=False, is_delta=False)
        elif number == 7:
            told = {field: value for field, kind, _, value in _fields(data) if kind == _VARINT}
            for point in _messages(data, 1):
                yield _point(
                    name, point, is_counter=bool(told.get(3)), is_delta=told.get(2) == _DELTA
                )


def _point(name: str, point: memoryview, *, is_counter: bool, is_delta: bool) -> Point:
    value = 0.0
    labels = []
    for number, kind, data, _ in _fields(point):
        if number == 4 and kind == _FIXED64:
            (value,) = _DOUBLE.unpack(data)
        elif number == 6 and kind == _FIXED64:
            (value,) = _SFIXED64.unpack(data)
        elif number == 7:
            labels.append(_key_value(data))
    return Point(name, value, tuple(sorted(labels)), is_counter, is_delta)


def _key_value(data: memoryview) -> tuple[str, str]:
    key, value = "", ""
    for number, _, inner, _ in _fields(data):
        if number == 1:
            key = str(inner, "utf-8")
        elif number == 2:
            value = _any_value(inner)
    return key, value


def _any_value(data: memoryview) -> str:
    for number, kind, inner, varint in _fields(data):
        if number == 1 and kind == _BYTES:
            return str(inner, "utf-8")
        if number == 2:
            return "true" if varint else "false"
        if number == 3 and kind == _VARINT:
            return str(varint - (1 << 64) if varint >> 63 else varint)
        if number == 4 and kind == _FIXED64:
            return str(_DOUBLE.unpack(inner)[0])
    return ""


# -- protobuf --------------------------------------------------------------------------------------


def _messages(data: memoryview, wanted: int) -> Iterator[memoryview]:
    for number, kind, inner, _ in _fields(data):
        if number == wanted and kind == _BYTES:
            yield inner


def _fields(data: memoryview) -> Iterator[Field]:
    position = 0
    end = len(data)
    nothing = data[:0]
    while position < end:
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
