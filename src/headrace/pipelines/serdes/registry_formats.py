"""How values of each format are read and written, once their frame is understood.

A plan is made on the driver and travels to workers. `reader_of` gives the decoder for values of one
writer's schema, or says why there is none; `payloads` encodes a column. What is common to all
formats, the frames and the modes, is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from headrace.client.registry import RegisteredSchema, RegistryClient
from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.avro.schema import parse as parse_avro
from headrace.pipelines.serdes.protobuf.descriptors import find_message
from headrace.pipelines.serdes.spans import BadValue, Spans
from headrace.pipelines.serdes.values import avro_values, protobuf_values
from headrace.schemas.model import InvalidValue, ParsedSchema, SchemaType
from headrace.schemas.protobuf import ProtobufSchema, descriptor_set

Indexes = tuple[int, ...]
FIRST_MESSAGE: Indexes = (0,)


class ColumnDecoder(Protocol):
    """Decodes spans; what cannot be decoded is reported and becomes null."""

    type: pa.DataType

    def decode(self, spans: Spans, on_bad: Callable[[BadValue], None]) -> pa.Array: ...


class Plan(Protocol):
    """What the column functions ask of a format."""

    @property
    def type(self) -> pa.DataType: ...

    @property
    def indexes(self) -> Indexes | None:
        """Protobuf's path to the message that is written; None where frames have none."""
        ...

    def reader_of(
        self, client: RegistryClient, writer: RegisteredSchema, indexes: Indexes | None
    ) -> ColumnDecoder: ...

    def payloads(self, values: pa.Array) -> pa.Array: ...


@dataclass(frozen=True)
class AvroPlan:
    """Writer's and reader's schema are resolved, as Avro's specification says."""

    text: str
    """The reader's schema, or the one that is written with, references put in."""
    options: Mapping[str, str]
    type: pa.DataType
    indexes: None = None

    @classmethod
    def of(
        cls, client: RegistryClient, schema: RegisteredSchema, options: Mapping[str, str]
    ) -> AvroPlan:
        text = _avro_text(client, schema)
        return cls(text, dict(options), avro_values(text, options).decoder.type)

    def reader_of(
        self, client: RegistryClient, writer: RegisteredSchema, indexes: Indexes | None
    ) -> ColumnDecoder:
        _expect(writer, SchemaType.AVRO)
        try:
            values = avro_values(_avro_text(client, writer), self.options, reader_schema=self.text)
        except ConfigError as error:
            raise InvalidValue(str(error)) from None
        return values.decoder

    def payloads(self, values: pa.Array) -> pa.Array:
        from headrace.pipelines.serdes.avro.encoder import encode

        return encode(values, parse_avro(self.text))


@dataclass(frozen=True)
class ProtobufPlan:
    """Messages are read by the reader's field numbers, whatever their writer called them."""

    set: bytes
    message_name: str
    indexes: Indexes
    names: Mapping[Indexes, str]
    text: str
    options: Mapping[str, str]
    type: pa.DataType

    @classmethod
    def of(
        cls,
        client: RegistryClient,
        schema: RegisteredSchema,
        options: Mapping[str, str],
        message_name: str | None,
    ) -> ProtobufPlan:
        parsed = _protobuf(client.parse(schema))
        names = parsed.message_names()
        if not names:
            raise ConfigError("the schema has no message")
        name = message_name or next(iter(names))
        if name not in names:
            raise ConfigError(f"the schema has no message {name}; it has {', '.join(names)}")
        described = descriptor_set(parsed)
        return cls(
            described,
            name,
            names[name],
            {path: each for each, path in names.items()},
            schema.text,
            dict(options),
            protobuf_values(name, described, options).decoder.type,
        )

    def reader_of(
        self, client: RegistryClient, writer: RegisteredSchema, indexes: Indexes | None
    ) -> ColumnDecoder:
        _expect(writer, SchemaType.PROTOBUF)
        path = FIRST_MESSAGE if indexes is None else indexes
        if writer.text == self.text:
            # The usual case needs no compiler in the worker.
            name = self.names.get(path, f"at {list(path)}, which the schema has not")
        else:
            name = _protobuf(client.parse(writer)).message_name(path)
        if name != self.message_name:
            raise InvalidValue(f"it is a message {name}, not {self.message_name}")
        return protobuf_values(self.message_name, self.set, self.options).decoder

    def payloads(self, values: pa.Array) -> pa.Array:
        from headrace.pipelines.serdes.protobuf.encoder import encode

        return encode(values, find_message(self.set, self.message_name))


@dataclass(frozen=True)
class JsonPlan:
    """The text is handed on, and Spark parses it; it is checked against its schema if wanted."""

    schema: RegisteredSchema
    validate: bool
    indexes: None = None

    @property
    def type(self) -> pa.DataType:
        return pa.string()

    def reader_of(
        self, client: RegistryClient, writer: RegisteredSchema, indexes: Indexes | None
    ) -> ColumnDecoder:
        _expect(writer, SchemaType.JSON)
        return _TextDecoder(client.parse(writer) if self.validate else None)

    def payloads(self, values: pa.Array) -> pa.Array:
        if self.validate:
            from headrace.schemas.json_schema import parse

            parsed = parse(self.schema.text, self.schema.resolved)
            for row, text in enumerate(values.to_pylist()):
                try:
                    if text is not None:
                        parsed.encode(json.loads(text))
                except InvalidValue as error:
                    raise CorruptData(
                        f"row {row} of the batch cannot be written: {error}"
                    ) from None
        return values.cast(pa.binary())


class _TextDecoder:
    """The payloads as texts."""

    type = pa.string()

    def __init__(self, schema: ParsedSchema | None) -> None:
        self._schema = schema

    def decode(self, spans: Spans, on_bad: Callable[[BadValue], None]) -> pa.Array:
        data = spans.data.data
        texts: list[str | None] = []
        for row, (start, end) in enumerate(spans.rows.tolist()):
            text = None
            if start >= 0:
                raw = bytes(data[start:end])
                try:
                    text = raw.decode()
                    if self._schema is not None:
                        self._schema.decode(raw)
                except (UnicodeDecodeError, InvalidValue) as error:
                    text = None
                    on_bad(BadValue(row, 0, "", "JSON that fits its schema", str(error)))
            texts.append(text)
        return pa.array(texts, pa.string())


def _avro_text(client: RegistryClient, schema: RegisteredSchema) -> str:
    """The schema in one piece."""
    return client.parse(schema).formatted("resolved") if schema.references else schema.text


def _protobuf(schema: ParsedSchema) -> ProtobufSchema:
    assert isinstance(schema, ProtobufSchema), "the caller has looked at the type"
    return schema


def _expect(writer: RegisteredSchema, type_: SchemaType) -> None:
    if writer.type is not type_:
        raise InvalidValue(f"it was written with a schema of type {writer.type}, not {type_}")
