"""How keys and values of a log are shown: by a decoder's class, or as records of a coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from headrace.cli.failures import WrongUsage
from headrace.cli.kafka_compat.coordinator_records import (
    Topic,
    decode,
    dumps,
    unfold_members,
)
from headrace.cli.kafka_compat.dumping.segment import Parse
from headrace.errors import HeadraceError
from headrace.records.record import Record

_Show: TypeAlias = Callable[[bytes], str]
_GROUP_METADATA: Final = 2
_DELETED: Final = "<DELETE>"


def by_classes(key_class: str | None, value_class: str | None) -> Parse:
    """The decoders of Kafka's tools; text if none is named."""
    show_key, show_value = _decoder(key_class), _decoder(value_class)

    def parse(record: Record) -> tuple[str | None, str | None]:
        return (
            None if record.key is None else show_key(record.key),
            None if record.value is None else show_value(record.value),
        )

    return parse


def _decoder(class_name: str | None) -> _Show:
    name = (class_name or "StringDecoder").rpartition(".")[2]
    if name not in _DECODERS:
        raise WrongUsage(f'"{class_name}" is not known here', f"use one of {', '.join(_DECODERS)}")
    return _DECODERS[name]


_DECODERS: Final[dict[str, _Show]] = {
    "StringDecoder": lambda data: data.decode(errors="replace"),
    "DefaultDecoder": lambda data: data.decode(errors="backslashreplace"),
    "IntegerDecoder": lambda data: str(int.from_bytes(data[:4], "big", signed=True)),
    "LongDecoder": lambda data: str(int.from_bytes(data[:8], "big", signed=True)),
}


def of_coordinator(topic: Topic) -> Parse:
    """Key and value as JSON, with the number of the type and of the version before the fields."""

    def parse(record: Record) -> tuple[str | None, str | None]:
        offset = record.offset
        if record.key is None:
            raise HeadraceError(
                f"Failed to decode message at offset {offset} using the specified decoder "
                "(message had a missing key)"
            )
        try:
            decoded = decode(topic, record.key, record.value)
        except HeadraceError as error:
            return f"Error at offset {offset}, skipping. {error}", None
        if isinstance(decoded, int):
            return f"Unknown record type {decoded} at offset {offset}, skipping.", None
        key = dumps({"type": str(decoded.type), "data": decoded.key})
        if decoded.value is None:
            return key, _DELETED
        value = decoded.value
        if decoded.type == _GROUP_METADATA:
            value = unfold_members(value)
        return key, dumps({"version": str(decoded.version), "data": value})

    return parse
