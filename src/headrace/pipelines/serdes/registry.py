"""The column functions of a schema registry: values that say which schema they were written with.

    spark.readStream.format("headrace")….select(from_registry("value", URL, topic="orders"))

A reader's schema, the latest of a subject unless another is named, gives the column its type. It is
fetched on the driver, where a mistake is reported before the query starts. Workers fetch the
schemas that records were written with, each once, and read them by the reader's (Avro resolves the
two, Protobuf and JSON read by name and number). Both forms of a frame are read: 5 bytes with an id
before the value, and a GUID in the record's header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import functions as f
from pyspark.sql.types import BinaryType, DataType, StringType, StructField, StructType

from headrace.client.registry import RegisteredSchema, RegistryClient, registry_settings
from headrace.errors import ConfigError
from headrace.pipelines.serdes.arrow_functions import arrow_column
from headrace.pipelines.serdes.json import from_json
from headrace.pipelines.serdes.modes import MODE_OPTION, Mode, choose_mode
from headrace.pipelines.serdes.registry_clients import client_of
from headrace.pipelines.serdes.registry_decoding import RegistryDecoder
from headrace.pipelines.serdes.registry_encoding import RegistryEncoder
from headrace.pipelines.serdes.registry_formats import AvroPlan, JsonPlan, Plan, ProtobufPlan
from headrace.pipelines.serdes.registry_types import type_of_json_schema
from headrace.pipelines.serdes.spark_types import spark_type
from headrace.schemas.formats import parse
from headrace.schemas.model import Reference, SchemaType
from headrace.schemas.naming import TOPIC_NAME, subject_name

if TYPE_CHECKING:
    from pyspark.sql import Column

FRAMINGS: Final = ("id", "header")
_REGISTRY_OPTIONS: Final = (
    "schema.registry.",
    "basic.auth.",
    "bearer.auth.",
    "ssl.",
    "enable.ssl.",
    "request.timeout.ms",
)
_WITH_HEADER: Final = StructType(
    [StructField("value", BinaryType()), StructField("header", BinaryType())]
)


def from_registry(
    data: Column | str,
    url: str,
    subject: str | None = None,
    options: Mapping[str, str] | None = None,
    *,
    topic: str | None = None,
    is_key: bool = False,
    strategy: str = TOPIC_NAME,
    record_name: str | None = None,
    version: int | None = None,
    reader_schema: str | None = None,
    format: str = "AVRO",  # noqa: A002
    message_name: str | None = None,
    header: Column | str | None = None,
    validate: bool = False,
    mode: str | None = None,
    dead_letter: bool = False,
) -> Column:
    """The values of a column of bytes that a registry's serializers wrote.

    The reader's schema is a version (default: the latest) of `subject`, or of the subject that
    `strategy` gives for `topic`; or it is `reader_schema`, a text in `format`. `header` is a column
    with the record's `__value_schema_id` for records that carry a GUID there. `options` are those
    of `from_avro` or `from_protobuf`, and the settings of the registry's client
    (`basic.auth.user.info`, `ssl.ca.location`). `validate` checks JSON against its writer's schema.
    `mode` is FAILFAST, the default, or PERMISSIVE; with `dead_letter` the result is
    struct<value, error>. An id that the registry does not know is a bad value like any other.
    """
    client, left = _client(url, options)
    chosen = choose_mode(
        left.pop(MODE_OPTION, None), mode, dead_letter=dead_letter, default=Mode.FAILFAST
    )
    if reader_schema is not None:
        reader = RegisteredSchema(0, _type_named(format), reader_schema)
    else:
        name = _subject(subject, topic, strategy, record_name, is_key=is_key)
        reader = client.latest(name) if version is None else client.version(name, version)
    plan = _plan(client, reader, left, message_name, validate=validate)
    decoder = RegistryDecoder(client.settings, plan, chosen)

    # Spark reads the signature: it takes no default values.
    def from_registry(values: pa.Array) -> pa.Array:
        return decoder.decode(values)

    def from_registry_with_header(values: pa.Array, headers: pa.Array) -> pa.Array:
        return decoder.decode(values, headers)

    result = spark_type(decoder.type)
    if header is None:
        decoded = arrow_column(from_registry, result, data)
    else:
        decoded = arrow_column(from_registry_with_header, result, data, header)
    if reader.type is not SchemaType.JSON:
        return decoded
    return _parsed(decoded, client, reader, chosen)


def to_registry(
    data: Column | str,
    url: str,
    subject: str | None = None,
    options: Mapping[str, str] | None = None,
    *,
    topic: str | None = None,
    is_key: bool = False,
    strategy: str = TOPIC_NAME,
    schema: str | None = None,
    format: str = "AVRO",  # noqa: A002
    references: Sequence[Reference] = (),
    version: int | None = None,
    register: bool = True,
    normalize: bool = False,
    message_name: str | None = None,
    framing: str = "id",
    validate: bool = False,
) -> Column:
    """The values of a column as bytes that a registry's deserializers read; null stays null.

    With `schema`, a text in `format`, that schema is registered under the subject, or with
    `register=False` looked up there; without it the subject's `version` (default: the latest) is
    used. `framing` is "id" for 5 bytes before the value, or "header" for struct<value, header>,
    whose second field belongs into the record's header `__value_schema_id` (`__key_schema_id`).
    """
    if framing not in FRAMINGS:
        raise ConfigError(f"framing is {framing}: allowed are {' and '.join(FRAMINGS)}")
    client, left = _client(url, options)
    if left:
        raise ConfigError(f"unknown option {next(iter(left))}; known are those of the registry")
    if schema is not None:
        type_ = _type_named(format)
        parsed = parse(type_, schema, client.resolve(references))
        name = _subject(subject, topic, strategy, parsed.name, is_key=is_key)
        if register:
            client.register(name, type_, schema, references, normalize=normalize)
        writer = client.lookup(name, type_, schema, references, normalize=normalize)
    else:
        name = _subject(subject, topic, strategy, None, is_key=is_key)
        writer = client.latest(name) if version is None else client.version(name, version)
    if framing == "header" and writer.guid is None:
        raise ConfigError("the registry gives no GUIDs: use framing='id', or a newer registry")
    plan = _plan(client, writer, {}, message_name, validate=validate)
    encoder = RegistryEncoder(plan, writer, in_header=framing == "header")

    def to_registry(values: pa.Array) -> pa.Array:
        return encoder.encode(values)

    result: DataType = _WITH_HEADER if framing == "header" else BinaryType()
    source = f.to_json(data) if writer.type is SchemaType.JSON else data
    return arrow_column(to_registry, result, source)


def _client(url: str, options: Mapping[str, str] | None) -> tuple[RegistryClient, dict[str, str]]:
    """A client of the registry, and the options that are not about it."""
    given = {name: str(value) for name, value in (options or {}).items()}
    about = {name: text for name, text in given.items() if name.startswith(_REGISTRY_OPTIONS)}
    settings = registry_settings({"schema.registry.url": url, **about})
    return client_of(settings), {name: given[name] for name in given if name not in about}


def _type_named(name: str) -> SchemaType:
    try:
        return SchemaType(name.upper())
    except ValueError:
        raise ConfigError(
            f"format is {name}: allowed are {', '.join(each.value for each in SchemaType)}"
        ) from None


def _subject(
    subject: str | None,
    topic: str | None,
    strategy: str,
    record_name: str | None,
    *,
    is_key: bool,
) -> str:
    if subject is not None:
        return subject
    if topic is None:
        raise ConfigError("no schema is named: give subject or topic")
    return subject_name(strategy, topic, is_key, record_name)


def _plan(
    client: RegistryClient,
    schema: RegisteredSchema,
    options: Mapping[str, str],
    message_name: str | None,
    *,
    validate: bool,
) -> Plan:
    if schema.type is SchemaType.AVRO:
        return AvroPlan.of(client, schema, options)
    if schema.type is SchemaType.PROTOBUF:
        return ProtobufPlan.of(client, schema, options, message_name)
    if options:
        raise ConfigError(f"unknown option {next(iter(options))}; JSON has none")
    return JsonPlan(schema, validate)


def _parsed(text: Column, client: RegistryClient, reader: RegisteredSchema, mode: Mode) -> Column:
    """The texts as Spark reads JSON; a schema that is no object or array leaves them texts."""
    type_ = type_of_json_schema(client.parse(reader).formatted("resolved"))
    if isinstance(type_, StringType):
        return text
    if mode is not Mode.DEAD_LETTER:
        return from_json(text, type_, mode=mode.value)
    parsed = from_json(text["value"], type_, dead_letter=True)
    return f.struct(
        parsed["value"].alias("value"), f.coalesce(text["error"], parsed["error"]).alias("error")
    )
