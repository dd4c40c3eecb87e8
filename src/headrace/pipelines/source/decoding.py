"""Keys and values decoded where they are read, by options of the source.

A column function such as `from_protobuf` gets its column from the JVM and gives it back: a way that
costs more than decoding. A source that decodes before rows go to Spark pays it once. The options
are those of the column functions, behind the name of the column:

    OPTION                 FORMAT              MEANING
    value.format                               avro, protobuf, or binary (the default)
    value.schema           avro                what the values were written with
    value.readerSchema     avro                what to read them as; its fields are the result's
    value.messageName      protobuf            the message of a value
    value.descFilePath     protobuf            a file as protoc --descriptor_set_out writes it
    value.mode             avro, protobuf      FAILFAST (the default) or PERMISSIVE
    value.deadLetter       avro, protobuf      true: struct<value, error> instead of a failure

and the same with `key.` in front. This module knows nothing of offsets and brokers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

    from headrace.pipelines.serdes.values import ValueDecoder

COLUMNS: Final = ("key", "value")
_OPTIONS_OF: Final = {
    "binary": (),
    "avro": ("schema", "readerSchema", "mode", "deadLetter"),
    "protobuf": ("messageName", "descFilePath", "mode", "deadLetter"),
}
_NAMES: Final = tuple(dict.fromkeys(name for names in _OPTIONS_OF.values() for name in names))
OPTION_NAMES: Final = tuple(
    f"{column}.{name}" for column in COLUMNS for name in ("format", *_NAMES)
)


class DecodedColumn(NamedTuple):
    """A column that does not stay bytes, with the type that Spark expects of it, in its words."""

    name: str
    decoder: ValueDecoder
    spark: DataType
    arrow: pa.DataType


@dataclass(frozen=True, slots=True)
class Decoding:
    """All that is decided about decoding before the first row is read."""

    columns: tuple[DecodedColumn, ...] = ()

    def apply(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows with their decoded columns, in the types that Spark expects of a source."""
        for column in self.columns:
            place = rows.schema.get_field_index(column.name)
            decoded = column.decoder.decode(rows.column(place))
            if decoded.type != column.arrow:
                # Only the names of list elements and map entries differ: no value is touched.
                decoded = decoded.cast(column.arrow)
            rows = rows.set_column(place, pa.field(column.name, column.arrow), decoded)
        return rows

    def schema(self, plain: StructType) -> StructType:
        """The columns of the source when these decoders have run."""
        from pyspark.sql.types import StructField, StructType

        types = {column.name: column.spark for column in self.columns}
        return StructType(
            [StructField(each.name, types.get(each.name, each.dataType)) for each in plain]
        )


BYTES_STAY: Final = Decoding()


def parse_decoding(given: Mapping[str, str]) -> Decoding:
    """What the options, by lowered names, say about decoding; refused early when they are wrong."""
    columns = []
    for column in COLUMNS:
        settings = {
            name: given[f"{column}.{name}".lower()]
            for name in _NAMES
            if f"{column}.{name}".lower() in given
        }
        form = given.get(f"{column}.format", "binary").strip().lower()
        if form not in _OPTIONS_OF:
            raise ConfigError(
                f"option {column}.format is {form!r}; allowed: {', '.join(_OPTIONS_OF)}"
            )
        for name in settings:
            if name not in _OPTIONS_OF[form]:
                raise ConfigError(
                    f"option {column}.{name} says nothing about a {column} in the format {form}: "
                    f"set {column}.format, or remove it"
                )
        if form != "binary":
            columns.append(_decoded_column(column, _decoder(column, form, settings)))
    return Decoding(tuple(columns))


def _decoded_column(name: str, decoder: ValueDecoder) -> DecodedColumn:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructField, StructType

    from headrace.pipelines.serdes.spark_types import spark_type
    from headrace.pipelines.spark_versions import is_since

    spark = spark_type(decoder.type)
    # Earlier ones have no other time zone.
    zone: dict[str, Any] = {"timezone": "UTC"} if is_since("4.2") else {}
    schema = to_arrow_schema(StructType([StructField(name, spark)]), **zone)
    return DecodedColumn(name, decoder, spark, schema.field(0).type)


def _decoder(column: str, form: str, settings: Mapping[str, str]) -> ValueDecoder:
    from headrace.pipelines.serdes.protobuf.descriptors import read_descriptor_set
    from headrace.pipelines.serdes.values import avro_values, protobuf_values

    for name in _OPTIONS_OF[form]:
        if name not in settings and name in ("schema", "messageName", "descFilePath"):
            raise ConfigError(f"option {column}.format is {form}, which needs {column}.{name}")
    mode = settings.get("mode")
    dead_letter = settings.get("deadLetter", "false").strip().lower()
    if dead_letter not in ("true", "false"):
        raise ConfigError(f"option {column}.deadLetter is {dead_letter!r}; allowed: true, false")
    try:
        if form == "avro":
            return avro_values(
                settings["schema"],
                reader_schema=settings.get("readerSchema"),
                mode=mode,
                dead_letter=dead_letter == "true",
            )
        return protobuf_values(
            settings["messageName"],
            read_descriptor_set(settings["descFilePath"], None),
            mode=mode,
            dead_letter=dead_letter == "true",
        )
    except ConfigError as fault:
        raise ConfigError(f"the options {column}.… are wrong: {fault}") from fault
