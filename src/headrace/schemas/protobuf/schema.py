"""One Protobuf schema: its texts, its messages and their values as JSON.

What a text means is for the compiler to say. This module asks it, and does the rest with the
descriptors that come back; it refuses to know .proto source itself.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

from headrace.errors import ConfigError
from headrace.schemas.model import (
    MAX_SCHEMA_BYTES,
    InvalidSchema,
    InvalidValue,
    Resolved,
    SchemaType,
)
from headrace.schemas.protobuf import descriptors, frames
from headrace.schemas.protobuf.process import CompilerDied, CompilerTimedOut, shared

FIRST_MESSAGE: Final[tuple[int, ...]] = (0,)


class ProtobufSchema:
    """A schema that protoc has accepted."""

    type: Final = SchemaType.PROTOBUF

    def __init__(self, text: str, normalized: str, descriptor_set: bytes) -> None:
        self.text = text
        self.descriptor_set = descriptor_set
        self._normalized = normalized

    def __repr__(self) -> str:
        return f"ProtobufSchema({self.name})"

    @cached_property
    def files(self) -> list[Any]:
        """The descriptors of the imports and, last, of the schema itself."""
        return descriptors.read_files(self.descriptor_set)

    @cached_property
    def pool(self) -> Any:
        """Where the library finds all messages of the schema."""
        return descriptors.build_pool(self.files)

    @cached_property
    def name(self) -> str | None:
        """The full name of the first message; a file may have none."""
        return self._names.get(FIRST_MESSAGE)

    @cached_property
    def _indexes(self) -> dict[str, tuple[int, ...]]:
        return descriptors.message_indexes(self.files[-1])

    @cached_property
    def _names(self) -> dict[tuple[int, ...], str]:
        return {indexes: name for name, indexes in self._indexes.items()}

    def message_names(self) -> dict[str, tuple[int, ...]]:
        """Each message's full name and the path of indexes that stands for it in a record."""
        return dict(self._indexes)

    def message_name(self, message_indexes: Sequence[int] = FIRST_MESSAGE) -> str:
        """The full name of the message that a path of indexes stands for."""
        name = self._names.get(tuple(message_indexes))
        if name is None:
            raise InvalidValue(f"the schema has no message with the indexes {[*message_indexes]}")
        return name

    def normalized(self) -> str:
        return self._normalized

    def formatted(self, form: str) -> str:
        """`serialized`: base64 of the FileDescriptorProto; `ignore_extensions`: without them."""
        if form == "serialized":
            alone = descriptors.without_empty_imports(self.files)
            return base64.b64encode(alone.SerializeToString()).decode()
        if form == "ignore_extensions":
            from headrace.schemas.protobuf.extensions import print_without_extensions

            return print_without_extensions(self.files)
        return self.text

    def encode(self, value: object, message_indexes: Sequence[int] = FIRST_MESSAGE) -> bytes:
        """The message, serialized, that Protobuf's JSON mapping gives for `value`."""
        from headrace.schemas.protobuf.values import encode

        return encode(self.pool, self.message_name(message_indexes), value)

    def decode(
        self,
        data: bytes,
        message_indexes: Sequence[int] = FIRST_MESSAGE,
        *,
        preserve_field_names: bool = True,
    ) -> object:
        """The value of a serialized message by Protobuf's JSON mapping.

        Fields stand under the names of the schema, or with `preserve_field_names=False` under
        their JSON names; fields that cannot tell whether they were set are always there.
        """
        from headrace.schemas.protobuf.values import decode

        name = self.message_name(message_indexes)
        return decode(self.pool, name, data, preserve_field_names=preserve_field_names)


def parse(text: str, references: Sequence[Resolved] = ()) -> ProtobufSchema:
    """Parse .proto source, or base64 of a FileDescriptorProto, with the files that it imports."""
    parts = [text]
    for each in references:
        parts += [each.reference.name, each.text]
    try:
        request = [part.encode() for part in parts]
    except UnicodeEncodeError as error:
        raise InvalidSchema(
            f"the schema holds a character that UTF-8 cannot: {error.object[error.start]!r} "
            f"at position {error.start}"
        ) from None
    if (size := sum(map(len, request))) > MAX_SCHEMA_BYTES:
        raise InvalidSchema(
            f"the schema and its references are {size} bytes long; "
            f"at most {MAX_SCHEMA_BYTES} bytes are read"
        )
    try:
        outcome, *answer = shared.ask(request)
    except (CompilerDied, CompilerTimedOut) as error:
        raise InvalidSchema(f"the schema cannot be compiled: {error}") from None
    if outcome == frames.OK:
        descriptor_set, canonical, normalized = answer
        return ProtobufSchema(canonical.decode(), normalized.decode(), descriptor_set)
    reason = answer[0].decode()
    if outcome == frames.MISSING:
        raise ConfigError(
            f"Protobuf schemas need the packages grpcio-tools and protobuf ({reason}): "
            "pip install grpcio-tools"
        )
    raise InvalidSchema(reason)


def descriptor_set(schema: ProtobufSchema) -> bytes:
    """A serialized FileDescriptorSet of the schema and all that it imports, dependencies first."""
    return schema.descriptor_set
