"""Decoders of whole columns of values, made of schemas and options; they know nothing of Spark.

The column functions run them in Spark's workers. A source that has the values at hand before they
reach Spark can run them itself and save the way there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.avro.columns import MAX_RECURSION
from headrace.pipelines.serdes.avro.decoder import Decoder as AvroDecoder
from headrace.pipelines.serdes.avro.program import compile_program
from headrace.pipelines.serdes.avro.schema import parse
from headrace.pipelines.serdes.modes import MODE_OPTION, Mode, Options, choose_mode
from headrace.pipelines.serdes.protobuf.decoder import Decoder as ProtobufDecoder
from headrace.pipelines.serdes.protobuf.descriptors import find_message
from headrace.pipelines.serdes.protobuf.messages import (
    MAX_RECURSION as MAX_MESSAGE_RECURSION,
)
from headrace.pipelines.serdes.protobuf.messages import MessageOptions, build_tables
from headrace.pipelines.serdes.spans import BadValue, Spans, spans_of

READER_SCHEMA_OPTION: Final = "avroSchema"
RECURSION_OPTION: Final = "recursiveFieldMaxDepth"
UNION_NAMES_OPTION: Final = "enableStableIdentifiersForUnionType"
UNION_PREFIX_OPTION: Final = "stableIdentifierPrefixForUnionType"
AVRO_OPTIONS: Final = (
    MODE_OPTION,
    READER_SCHEMA_OPTION,
    RECURSION_OPTION,
    UNION_NAMES_OPTION,
    UNION_PREFIX_OPTION,
)
MESSAGE_RECURSION_OPTION: Final = "recursive.fields.max.depth"
MESSAGE_FLAGS: Final = {
    "emit.default.values": "emit_defaults",
    "enums.as.ints": "enums_as_ints",
    "upcast.unsigned.ints": "upcast_unsigned",
    "unwrap.primitive.wrapper.types": "unwrap_wrappers",
    "retain.empty.message.types": "retain_empty",
}
PROTOBUF_OPTIONS: Final = (MODE_OPTION, MESSAGE_RECURSION_OPTION, *MESSAGE_FLAGS)

_ROUTES: Final = (
    "mode='PERMISSIVE' makes such values null; dead_letter=True gives the reason beside them"
)
_AVRO_REMEDY: Final = (
    "Check that the schema is the one that the value was written with, and that nothing stands "
    f"before the value (a schema registry puts 5 bytes there). {_ROUTES}"
)
_PROTOBUF_REMEDY: Final = (
    "Check the message name and the descriptor set, and that nothing stands before the message "
    f"(a schema registry puts bytes there). {_ROUTES}"
)


@dataclass(frozen=True, slots=True)
class ValueDecoder:
    """Turns a column of bytes into a column of `type`; travels to Spark's workers."""

    decoder: AvroDecoder | ProtobufDecoder
    mode: Mode
    remedy: str

    @property
    def type(self) -> pa.DataType:
        if self.mode is not Mode.DEAD_LETTER:
            return self.decoder.type
        return pa.struct({"value": self.decoder.type, "error": pa.string()})

    def decode(self, values: pa.Array) -> pa.Array:
        """The column in the form that the mode asks for."""
        return self.decode_spans(spans_of(values))

    def decode_spans(self, spans: Spans) -> pa.Array:
        """The same for values that lie somewhere inside of others, as behind a prefix."""
        bad: list[BadValue] = []
        on_bad: Callable[[BadValue], None] = bad.append
        if self.mode is Mode.FAILFAST:
            on_bad = self._stop
        decoded = self.decoder.decode(spans, on_bad)
        if self.mode is not Mode.DEAD_LETTER:
            return decoded
        errors: list[str | None] = [None] * len(decoded)
        for each in bad:
            errors[each.row] = str(each)
        columns = [decoded, pa.array(errors, pa.string())]
        return pa.StructArray.from_arrays(columns, ["value", "error"])

    def _stop(self, value: BadValue) -> None:
        raise CorruptData(f"row {value.row} of the batch cannot be decoded: {value}. {self.remedy}")


def avro_values(
    schema: str,
    options: Mapping[str, str] | None = None,
    *,
    reader_schema: str | None = None,
    mode: str | None = None,
    dead_letter: bool = False,
) -> ValueDecoder:
    """A decoder of values that were written with `schema`."""
    settings = Options(options, AVRO_OPTIONS)
    by_option = settings.text(MODE_OPTION)
    chosen = choose_mode(by_option, mode, dead_letter=dead_letter, default=Mode.FAILFAST)
    reader = settings.text(READER_SCHEMA_OPTION)
    if reader_schema is not None:
        if reader is not None:
            raise ConfigError(
                f"the reader's schema is given twice: drop the option {READER_SCHEMA_OPTION}"
            )
        reader = reader_schema
    writer = parse(schema)
    prefix = settings.text(UNION_PREFIX_OPTION, "member_")
    program = compile_program(
        writer,
        writer if reader in (None, schema) else parse(reader),
        recursion=settings.number(RECURSION_OPTION, -1, MAX_RECURSION),
        union_prefix=prefix if settings.flag(UNION_NAMES_OPTION) else None,
    )
    return ValueDecoder(AvroDecoder(program), chosen, _AVRO_REMEDY)


def protobuf_values(
    message_name: str,
    descriptor_set: bytes,
    options: Mapping[str, str] | None = None,
    *,
    mode: str | None = None,
    dead_letter: bool = False,
) -> ValueDecoder:
    """A decoder of messages that the descriptor set describes."""
    settings = Options(options, PROTOBUF_OPTIONS)
    by_option = settings.text(MODE_OPTION)
    chosen = choose_mode(by_option, mode, dead_letter=dead_letter, default=Mode.FAILFAST)
    mapping = MessageOptions(
        recursion=settings.number(MESSAGE_RECURSION_OPTION, -1, MAX_MESSAGE_RECURSION),
        **{field: settings.flag(option) for option, field in MESSAGE_FLAGS.items()},
    )
    tables = build_tables(find_message(descriptor_set, message_name), mapping)
    return ValueDecoder(ProtobufDecoder(tables), chosen, _PROTOBUF_REMEDY)
