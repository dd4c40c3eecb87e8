"""The column functions of Avro and Protobuf: Arrow functions in Spark's Python workers, but for
`from_avro`, which runs in Spark's JVM where there is one.

Parameters carry the names that they have in `pyspark.sql.avro.functions` and in
`pyspark.sql.protobuf.functions`, so that a call needs no change. Schemas are read and resolved on
the driver, where a mistake is reported before the query starts; workers get finished programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import BinaryType

from headrace.pipelines.serdes.arrow_functions import arrow_column
from headrace.pipelines.serdes.avro.derivation import schema_of
from headrace.pipelines.serdes.avro.rows import rows_column
from headrace.pipelines.serdes.avro.schema import parse
from headrace.pipelines.serdes.modes import Options
from headrace.pipelines.serdes.protobuf.descriptors import find_message, read_descriptor_set
from headrace.pipelines.serdes.spark_types import spark_type
from headrace.pipelines.serdes.values import (
    PROTOBUF_OPTIONS,
    ValueDecoder,
    avro_values,
    protobuf_values,
)

if TYPE_CHECKING:
    from pyspark.sql import Column


def from_avro(
    data: Column | str,
    jsonFormatSchema: str,  # noqa: N803
    options: Mapping[str, str] | None = None,
    *,
    reader_schema: str | None = None,
    mode: str | None = None,
    dead_letter: bool = False,
) -> Column:
    """The values of a column of Avro bytes.

    `jsonFormatSchema` is the schema that the values were written with. With `reader_schema` (or the
    option `avroSchema`) they are read by another one, which may have evolved; its fields are the
    fields of the result. `mode` is FAILFAST, the default, or PERMISSIVE; with `dead_letter` the
    result is struct<value, error>.
    """
    decoder = avro_values(
        jsonFormatSchema, options, reader_schema=reader_schema, mode=mode, dead_letter=dead_letter
    )
    column = rows_column(decoder, data)
    return _decoding("from_avro", decoder, data) if column is None else column


def to_avro(data: Column | str, jsonFormatSchema: str = "") -> Column:  # noqa: N803
    """The values of a column as Avro bytes; null stays null.

    Without a schema one is derived from the column's type: every field that may be null becomes a
    union of its type and null, in this order, as spark-avro does it.
    """
    node = parse(jsonFormatSchema) if jsonFormatSchema else None

    def to_avro(values: pa.Array) -> pa.Array:
        from headrace.pipelines.serdes.avro.encoder import encode

        return encode(values, node if node is not None else schema_of(values.type))

    return arrow_column(to_avro, BinaryType(), data)


def from_protobuf(
    data: Column | str,
    messageName: str,  # noqa: N803
    descFilePath: str | None = None,  # noqa: N803
    options: Mapping[str, str] | None = None,
    binaryDescriptorSet: bytes | None = None,  # noqa: N803
    *,
    mode: str | None = None,
    dead_letter: bool = False,
) -> Column:
    """The values of a column of Protobuf bytes.

    The descriptor set is a file or its bytes, as protoc writes it with `--include_imports
    --descriptor_set_out`. `mode` is FAILFAST, the default, or PERMISSIVE; with `dead_letter` the
    result is struct<value, error>.
    """
    descriptor_set = read_descriptor_set(descFilePath, binaryDescriptorSet)
    decoder = protobuf_values(
        messageName, descriptor_set, options, mode=mode, dead_letter=dead_letter
    )
    return _decoding("from_protobuf", decoder, data)


def to_protobuf(
    data: Column | str,
    messageName: str,  # noqa: N803
    descFilePath: str | None = None,  # noqa: N803
    options: Mapping[str, str] | None = None,
    binaryDescriptorSet: bytes | None = None,  # noqa: N803
) -> Column:
    """The values of a column of structs as Protobuf bytes; null stays null."""
    Options(options, PROTOBUF_OPTIONS)
    descriptor_set = read_descriptor_set(descFilePath, binaryDescriptorSet)
    find_message(descriptor_set, messageName)

    def to_protobuf(values: pa.Array) -> pa.Array:
        from headrace.pipelines.serdes.protobuf.encoder import encode

        # A descriptor cannot travel to a worker, the set can; finding it again is cheap.
        return encode(values, find_message(descriptor_set, messageName))

    return arrow_column(to_protobuf, BinaryType(), data)


def _decoding(name: str, decoder: ValueDecoder, data: Column | str) -> Column:
    def function(values: pa.Array) -> pa.Array:
        return decoder.decode(values)

    function.__name__ = name
    return arrow_column(function, spark_type(decoder.type), data)
