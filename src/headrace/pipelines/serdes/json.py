"""JSON values by Spark's own functions, with the modes that the other formats have.

Spark parses JSON in the JVM without further jars, and nothing here competes with that. What is
added is the treatment of bad values: Spark's permissive mode fills a column of the result with the
text that it could not parse, which is asked for, looked at, and taken away again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from headrace.errors import ConfigError
from headrace.pipelines.serdes.modes import MODE_OPTION, Mode, choose_mode

if TYPE_CHECKING:
    from pyspark.sql import Column

CORRUPT_OPTION: Final = "columnNameOfCorruptRecord"
_CORRUPT: Final = "_headrace_corrupt"


def from_json(
    col: Column | str,
    schema: ArrayType | StructType | MapType | Column | str,
    options: Mapping[str, str] | None = None,
    *,
    mode: str | None = None,
    dead_letter: bool = False,
) -> Column:
    """The values of a column of JSON text, or of its bytes.

    As `pyspark.sql.functions.from_json`, whose default is PERMISSIVE; a bad value is null as a
    whole. With `dead_letter` the result is struct<value, error>.
    """
    settings = {name: str(value) for name, value in (options or {}).items()}
    by_option = next(
        (settings.pop(name) for name in list(settings) if name.lower() == MODE_OPTION), None
    )
    chosen = choose_mode(by_option, mode, dead_letter=dead_letter, default=Mode.PERMISSIVE)
    text = (f.col(col) if isinstance(col, str) else col).cast("string")
    if chosen is Mode.FAILFAST:
        return f.from_json(text, schema, {**settings, MODE_OPTION: Mode.FAILFAST.value})
    if not isinstance(schema, DataType):
        if not isinstance(schema, str):
            raise ConfigError(
                "a schema that is a column cannot be used here: give a type or its DDL"
            )
        schema = _parsed(schema)
    settings[MODE_OPTION] = Mode.PERMISSIVE.value
    value, bad = _permissive(text, schema, settings)
    if chosen is Mode.PERMISSIVE:
        return value
    reason = f.concat(f.lit("expected JSON of the type "), f.lit(schema.simpleString()))
    return f.struct(value.alias("value"), f.when(bad, reason).alias("error"))


def to_json(col: Column | str, options: Mapping[str, str] | None = None) -> Column:
    """The values of a column as JSON text: `pyspark.sql.functions.to_json`."""
    return f.to_json(col, dict(options) if options else None)


def _parsed(ddl: str) -> ArrayType | StructType | MapType:
    parsed = DataType.fromDDL(ddl)
    if not isinstance(parsed, ArrayType | StructType | MapType):
        raise ConfigError(f"the schema {ddl} is neither a struct nor an array nor a map")
    return parsed


def _permissive(
    text: Column, schema: ArrayType | StructType | MapType, options: dict[str, str]
) -> tuple[Column, Column]:
    """The value, null if it is bad, and whether it is."""
    if not isinstance(schema, StructType):
        value = f.from_json(text, schema, options)
        return value, text.isNotNull() & value.isNull()
    extended = StructType([*schema.fields, StructField(_CORRUPT, StringType())])
    parsed = f.from_json(text, extended, {**options, CORRUPT_OPTION: _CORRUPT})
    fields = [parsed[each.name].alias(each.name) for each in schema.fields]
    bad = parsed[_CORRUPT].isNotNull()
    return f.when(parsed.isNotNull() & ~bad, f.struct(*fields)), bad
