"""Avro values decoded where they are: a column function inside of Spark's JVM.

The way from the JVM to a Python worker and back costs more than decoding does (decision 0013). So
`AvroRows.java`, beside this module, runs the same programs as `decode_kernel` on rows; it is made
once for each JVM. Where no JVM can be reached, as with Spark Connect, there is no such column, and
Arrow does the work.

What is used of Spark here is not its public interface; all of it is in this module.
"""

from __future__ import annotations

import logging
import zipfile
from enum import IntEnum
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pyarrow as pa

from headrace.pipelines.java_classes import compile_java, give_to_driver, is_loadable
from headrace.pipelines.jvm_faults import jvm_faults
from headrace.pipelines.serdes import layout
from headrace.pipelines.serdes.avro import opcodes
from headrace.pipelines.serdes.avro.decoder import REASONS, Decoder
from headrace.pipelines.serdes.modes import Mode
from headrace.pipelines.serdes.spark_types import spark_type
from headrace.pipelines.session import is_local

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column

    from headrace.pipelines.serdes.avro.program import Program
    from headrace.pipelines.serdes.values import ValueDecoder

_PACKAGE: Final = "org.apache.spark.sql.catalyst.expressions"
_NEIGHBOUR: Final = f"{_PACKAGE}.GenericInternalRow"
_CLASS: Final = f"{_PACKAGE}.AvroRows"
_SOURCE: Final = "AvroRows.java"
_JAR: Final = "headrace-avro.jar"

_LOGGER: Final = logging.getLogger(__name__)
_making: Final = Lock()
_MODES: Final = {mode: number for number, mode in enumerate(Mode)}
_NO_PARENT: Final = -1
_MAX_INT: Final = (1 << 31) - 1


class Field(IntEnum):
    """What the Java class knows of a column, in this order."""

    PARENT = 0
    ORDINAL = 1  # its place there
    KIND = 2
    SIZE = 3  # fields of a row, precision of a decimal
    SCALE = 4


class Kind(IntEnum):
    VALUE = 0
    ROW = 1
    OPTIONAL_ROW = 2
    ARRAY = 3
    MAP = 4


def rows_column(decoder: ValueDecoder, data: Column | str) -> Column | None:
    """The column of decoded values; None where there is no JVM to decode them in."""
    from pyspark import SparkContext
    from pyspark.sql.utils import is_remote

    context = None if is_remote() else SparkContext._active_spark_context
    if context is None:
        return None
    try:
        return _column(context, decoder, data)
    except jvm_faults() as fault:
        _LOGGER.warning(
            "This Spark is not known: from_avro goes through Python workers (%s)", fault
        )
        return None


def _column(context: SparkContext, decoder: ValueDecoder, data: Column | str) -> Column:
    from pyspark.sql.classic.column import Column as ClassicColumn
    from pyspark.sql.classic.column import _to_java_column
    from pyspark.sql.types import BinaryType

    jvm: Any = context._jvm
    machine_class = _machine_class(context)
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    machine = expressions.Literal(
        _machine(context, machine_class, decoder),
        jvm.org.apache.spark.sql.types.ObjectType(machine_class),
    )
    convert = getattr(jvm.org.apache.spark.sql.classic, "ExpressionUtils$")
    convert = getattr(convert, "MODULE$")
    argument = _to_java_column(data)
    # Text is taken as its bytes; a column of anything else is refused when the query is built.
    binary = jvm.org.apache.spark.sql.types.DataType.fromJson(BinaryType().json())
    result = jvm.org.apache.spark.sql.types.DataType.fromJson(spark_type(decoder.type).json())
    decoded = expressions.objects.Invoke(
        machine,
        "decode",
        result,
        jvm.PythonUtils.toSeq([convert.expression(argument)]),
        jvm.PythonUtils.toSeq([binary]),
        False,  # it is asked about nulls, too,
        True,  # may answer null
        True,  # and says the same of the same bytes
    )
    name = f"from_avro({argument.toString()})"
    return cast("Column", ClassicColumn(convert.column(decoded))).alias(name)


def _machine(context: SparkContext, machine_class: Any, decoder: ValueDecoder) -> Any:
    """An object of the Java class that knows the program of this decoder."""
    assert isinstance(decoder.decoder, Decoder), "it is for Avro only"
    program = decoder.decoder.program
    arguments = (
        _MODES[decoder.mode],
        _words(program.instructions),
        _words(_column_table(program)),
        _words(program.jumps),
        _words(program.symbols),
        _words(program.decimals[:, opcodes.SHIFT]),
        bytearray(program.pool.tobytes()),
        "\0".join(text for place in program.places for text in place),
        "\0".join(REASONS.get(reason, "") for reason in range(max(REASONS) + 1)),
        decoder.remedy,
    )
    gateway: Any = context._gateway
    given = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for index, argument in enumerate(arguments):
        given[index] = argument
    return machine_class.getConstructors()[0].newInstance(given)


def _words(table: Any) -> bytearray:
    assert table.size == 0 or abs(table).max() <= _MAX_INT, "no program is that large"
    return bytearray(np.asarray(table, dtype=">i4").tobytes())


def _column_table(program: Program) -> Any:
    table = np.zeros((len(program.columns), len(Field)), dtype=np.int64)
    table[0, Field.PARENT] = _NO_PARENT
    for column in program.columns:
        kind, size = Kind.VALUE, 0
        if column.kind == layout.STRUCT:
            kind = Kind.OPTIONAL_ROW if column.nullable else Kind.ROW
            size = len(column.children)
        elif column.kind == layout.LIST:
            kind = Kind.MAP if pa.types.is_map(column.type) else Kind.ARRAY
        elif column.kind == layout.DECIMAL:
            size = column.type.precision
            table[column.index, Field.SCALE] = column.type.scale
        table[column.index, Field.KIND] = kind
        table[column.index, Field.SIZE] = size
        for ordinal, child in enumerate(column.children):
            table[child.index, Field.PARENT] = column.index
            table[child.index, Field.ORDINAL] = ordinal
    return table


def _machine_class(context: SparkContext) -> Any:
    """The Java class, which is made if it is not in this JVM or not at these executors."""
    jvm: Any = context._jvm
    jar = Path(cast(str, context._temp_dir)) / _JAR
    with _making:
        is_here = is_loadable(jvm, _CLASS)
        is_there = is_local(context.master) or jar.exists()
        if not (is_here and is_there):
            compiled = compile_java(jvm, _source(), _NEIGHBOUR)
            if not is_here:
                give_to_driver(jvm, compiled, _NEIGHBOUR)
            if not is_there:
                _give_to_executors(context, jar, compiled)
    return jvm.java.lang.Class.forName(_CLASS)


def _source() -> str:
    """The Java class with its numbers, which are written down in Python alone."""
    text = files(__package__).joinpath(_SOURCE).read_text()
    numbers = {
        **{name: value for name, value in vars(opcodes).items() if type(value) is int},
        **{each.name: each.value for each in (*Field, *Kind)},
        **{mode.name: number for mode, number in _MODES.items()},
        "COLUMN_FIELDS": len(Field),
    }
    constants = (
        f"static final long {name} = {value}L;"
        if value > _MAX_INT
        else f"static final int {name} = {value};"
        for name, value in numbers.items()
    )
    return text.replace("// NUMBERS", "\n    ".join(constants), 1)


def _give_to_executors(context: SparkContext, jar: Path, compiled: dict[str, bytes]) -> None:
    """Executors fetch the classes from the driver, as they do with any jar that is added."""
    with zipfile.ZipFile(jar, "w") as archive:
        for name, code in compiled.items():
            archive.writestr(f"{name.replace('.', '/')}.class", code)
    cast(Any, context)._jsc.addJar(str(jar))
