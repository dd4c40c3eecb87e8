"""The readers of `--line-reader` by the names of their Java classes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Final

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka_compat.clients import is_true, open_registry
from headrace.cli.kafka_compat.console.lines import Encode, Encoders, LineReader, plain

if TYPE_CHECKING:
    from headrace.schemas.model import SchemaType

LINES: Final = "org.apache.kafka.tools.LineMessageReader"
CONFLUENT: Final = "io.confluent.kafka.formatter."
AVRO: Final = f"{CONFLUENT}AvroMessageReader"
JSON_SCHEMA: Final = f"{CONFLUENT}json.JsonSchemaMessageReader"
PROTOBUF: Final = f"{CONFLUENT}protobuf.ProtobufMessageReader"


def open_reader(class_name: str, topic: str, properties: Mapping[str, str]) -> LineReader:
    """The reader of this class; for one with schemas the registry is asked now."""
    if class_name.rpartition(".")[2] == "LineMessageReader":
        return LineReader(properties, Encoders(plain, plain))
    from headrace.schemas.model import SchemaType

    types = {AVRO: SchemaType.AVRO, JSON_SCHEMA: SchemaType.JSON, PROTOBUF: SchemaType.PROTOBUF}
    schema_type = types.get(class_name)
    if schema_type is None:
        raise WrongUsage(
            f'"{class_name}" is not known here', f"use one of {', '.join((LINES, *types))}"
        )
    return LineReader(properties, _with_schemas(schema_type, topic, properties))


def _with_schemas(schema_type: SchemaType, topic: str, properties: Mapping[str, str]) -> Encoders:
    from headrace.cli.kafka_compat.console.plain import serializer_named
    from headrace.cli.kafka_compat.console.writing import Write, find_writer

    def of_text(write: Write) -> Encode:
        return lambda data: write(data.decode())

    key: Encode = plain
    with closing(open_registry(properties)) as registry:
        value = of_text(find_writer(registry, schema_type, topic, properties, is_key=False))
        if is_true(properties, "parse.key"):
            class_name = properties.get("key.serializer")
            if class_name and not class_name.startswith("io.confluent."):
                key = of_text(serializer_named(class_name))
            else:
                key = of_text(find_writer(registry, schema_type, topic, properties, is_key=True))
    return Encoders(key, value, skips_blank=True, skips_faulty=True)
