"""Keys without a schema: the serializers of Kafka's own that the console tools are told to use."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.cli.failures import WrongUsage
from headrace.schemas.model import InvalidValue

Serializer: TypeAlias = Callable[[str], bytes]
Deserializer: TypeAlias = Callable[[bytes], str]

_NUMBERS: Final = {"Short": ">h", "Integer": ">i", "Long": ">q", "Float": ">f", "Double": ">d"}
_TEXTS: Final = ("String", "ByteArray", "Bytes")


def serializer_named(class_name: str) -> Serializer:
    """The serializer of a Java class, such as org.apache.kafka.….StringSerializer."""
    name = class_name.rpartition(".")[2].removesuffix("Serializer")
    if name in _TEXTS:
        return str.encode
    form = _form(class_name, name)

    def serialize(text: str) -> bytes:
        try:
            return struct.pack(form, float(text) if form in (">f", ">d") else int(text))
        except (ValueError, struct.error, OverflowError):
            raise InvalidValue(f"the key {text!r} is not of type {name.lower()}") from None

    return serialize


def deserializer_named(class_name: str) -> Deserializer:
    """The deserializer of a Java class."""
    name = class_name.rpartition(".")[2].removesuffix("Deserializer")
    if name in _TEXTS:
        return lambda data: data.decode(errors="replace")
    form = _form(class_name, name)

    def deserialize(data: bytes) -> str:
        try:
            return str(struct.unpack(form, data)[0])
        except struct.error:
            raise InvalidValue(
                f"the key has {len(data)} bytes and is not of type {name.lower()}"
            ) from None

    return deserialize


def _form(class_name: str, name: str) -> str:
    if name not in _NUMBERS:
        known = ", ".join((*_TEXTS, *_NUMBERS))
        raise WrongUsage(f'"{class_name}" is not known here', f"use the class of {known}")
    return _NUMBERS[name]
