"""Whether a converter's columnar forms give what its record form gives, faults included."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa

from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.faults import ConnectException, java_class
from headrace.pipelines.connect.model.column import of_values
from headrace.pipelines.connect.model.schema import Schema
from tests.pipelines.connect.converters.oracle import shown_schema, shown_value


def check_encoding(converter: Converter, schema: Schema | None, values: Sequence[object]) -> None:
    """A column of values, and the same column as part of a longer one."""
    column = of_values(schema, values)
    expected = outcome(lambda: [converter.encode("t", schema, value) for value in values])
    assert outcome(lambda: converter.encode_column("t", column).to_pylist()) == expected
    longer = of_values(schema, [*values, *values]).slice(len(values), 2 * len(values))
    assert outcome(lambda: converter.encode_column("t", longer).to_pylist()) == expected


def check_decoding(converter: Converter, rows: Sequence[bytes | None]) -> None:
    """A column of bytes: the same values, cut where the schema changes."""
    expected = outcome(lambda: runs(converter, rows))
    data = pa.array(rows, pa.binary())
    assert outcome(lambda: shown(converter, data)) == expected
    longer = pa.array([*rows, *rows], pa.binary()).slice(len(rows))
    assert outcome(lambda: shown(converter, longer)) == expected


def runs(converter: Converter, rows: Sequence[bytes | None]) -> list[Any]:
    read = [converter.decode("t", row) for row in rows]
    return [
        [shown_schema(schema), [shown_value(schema, value) for _, value in run]]
        for schema, run in groupby(read, key=lambda row: row[0])
    ]


def shown(converter: Converter, data: pa.Array) -> list[Any]:
    return [
        [shown_schema(column.schema), [shown_value(column.schema, v) for v in column.to_values()]]
        for column in converter.decode_column("t", data)
    ]


def outcome(call: Any) -> Any:
    try:
        return call()
    except ConnectException as fault:
        return java_class(fault)
