"""ProtobufConverter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from google.protobuf.message import DecodeError

from headrace.client.registry.client import RegistryClient
from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.converters.registry import protobuf_schemas
from headrace.pipelines.connect.converters.registry.converter import (
    COMMON,
    RegistryConverter,
    Written,
)
from headrace.pipelines.connect.converters.registry.protobuf_schemas import ProtobufOptions
from headrace.pipelines.connect.converters.registry.protobuf_values import (
    fill,
    new_message,
    struct_of,
)
from headrace.pipelines.connect.faults import DataException
from headrace.pipelines.connect.model.schema import Schema, Struct
from headrace.schemas.framing import frame, read_message_indexes
from headrace.schemas.model import InvalidValue, ParsedSchema, SchemaType
from headrace.schemas.protobuf import ProtobufSchema

DEFINITION: Final = COMMON.plus(
    Key(
        "wrapper.for.nullables",
        Kind.BOOLEAN,
        False,
        "Whether fields that may be null are messages that wrap a value.",
    ),
    Key(
        "optional.for.nullables",
        Kind.BOOLEAN,
        False,
        "Whether fields that may be null are optional fields of proto3.",
    ),
)
_FIRST_MESSAGE: Final = (0,)


class ProtobufConverter(RegistryConverter):
    """Protobuf."""

    type = SchemaType.PROTOBUF
    name = "Protobuf"
    definition: ClassVar[Definition] = DEFINITION

    def __init__(self, given: Mapping[str, object], registry: RegistryClient | None = None) -> None:
        super().__init__(given, registry)
        self._options = ProtobufOptions(
            bool(self.settings["wrapper.for.nullables"]),
            bool(self.settings["optional.for.nullables"]),
        )

    def text_of(self, schema: Schema) -> str:
        """The .proto source."""
        return protobuf_schemas.text_of(schema, self._options)

    def schema_of(self, parsed: ParsedSchema) -> Schema:
        """The Connect schema of the first message."""
        return protobuf_schemas.schema_of(_descriptor(parsed, _FIRST_MESSAGE), self._options)

    def payload_of(self, parsed: ParsedSchema, schema: Schema, value: object) -> bytes:
        """The message."""
        if not isinstance(value, Struct):
            raise DataException(f"Protobuf writes structs alone, not {type(value).__name__}")
        message = new_message(_descriptor(parsed, _FIRST_MESSAGE))
        fill(message, value)
        return bytes(message.SerializeToString())

    def framed(self, writer: Written, payload: bytes) -> bytes:
        """The header, which says that the message is the file's first, and the payload."""
        return frame(writer.id, payload, _FIRST_MESSAGE)

    def value_of(self, parsed: ParsedSchema, schema: Schema, payload: bytes) -> object:
        """The struct of the message."""
        indexes, data = read_message_indexes(payload)
        descriptor = _descriptor(parsed, indexes)
        if indexes != _FIRST_MESSAGE:
            schema = protobuf_schemas.schema_of(descriptor, self._options)
        message = new_message(descriptor)
        try:
            message.ParseFromString(bytes(data))
        except DecodeError as error:
            raise InvalidValue(f"the bytes are no message {descriptor.full_name}") from error
        return struct_of(message, schema)


def _descriptor(parsed: ParsedSchema, indexes: tuple[int, ...]) -> Any:
    assert isinstance(parsed, ProtobufSchema)
    return parsed.pool.FindMessageTypeByName(parsed.message_name(indexes))
