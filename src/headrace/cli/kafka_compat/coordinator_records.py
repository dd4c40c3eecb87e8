"""The records of internal topics as Kafka's tools print them: JSON by the fields of their schema.

Fields have the names of Kafka's schemas, which are ours in camel case; those of other versions are
left out, and tagged ones while they have a default other than null. Bytes are base64. The module
knows the shapes of records (`headrace.wire.schema`) and nothing of what they mean.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple
from uuid import UUID

from headrace.coordinator.effects import StateRecord
from headrace.errors import HeadraceError
from headrace.types import Buffer, uuid_to_text
from headrace.wire.schema import FieldSpec, fields_of

_NUMBER_SIZE: Final = 2
_KEY_VERSION: Final = 0
_CONSUMER_PROTOCOL: Final = "consumer"


class Topic(NamedTuple):
    """An internal topic, and which of its record types a formatter prints; none named is all."""

    module: str
    types: frozenset[int] = frozenset()


_GROUPS: Final = "headrace.coordinator.group.records"
OFFSETS: Final = Topic(_GROUPS)
TRANSACTIONS: Final = Topic("headrace.coordinator.transaction.records")
SHARE_STATE: Final = Topic("headrace.coordinator.share.records")
FORMATTERS: Final = {
    "OffsetsMessageFormatter": Topic(_GROUPS, frozenset({0, 1})),
    "GroupMetadataMessageFormatter": Topic(_GROUPS, frozenset({2})),
    "ShareGroupMessageFormatter": Topic(_GROUPS, frozenset(range(10, 16))),
    "TransactionLogMessageFormatter": TRANSACTIONS,
    "ShareGroupStateMessageFormatter": SHARE_STATE,
}


class Decoded(NamedTuple):
    """A record with the numbers that led its key and its value."""

    type: int
    key: dict[str, Any]
    version: int
    value: dict[str, Any] | None


def decode(topic: Topic, key: Buffer, value: Buffer | None) -> Decoded | int:
    """The record; the number of its type if that is not known here."""
    number = _number(key)
    decode_record: Callable[[Buffer, Buffer | None], StateRecord[object, object] | None]
    decode_record = import_module(topic.module).decode_record
    record = decode_record(key, value)
    if record is None:
        return number
    version = -1 if value is None else _number(value)
    shown = None if record.value is None else as_json(record.value, version)
    return Decoded(number, as_json(record.key, _KEY_VERSION), version, shown)


def _number(data: Buffer) -> int:
    return int.from_bytes(bytes(data[:_NUMBER_SIZE]), "big", signed=True)


def as_json(message: Any, version: int) -> dict[str, Any]:
    """The fields that a message has in this version, as Kafka's converters write them."""
    shown: dict[str, Any] = {}
    kind: type = type(message)
    for spec in fields_of(kind):
        value = getattr(message, spec.name)
        is_left_out = spec.tag is not None and value == spec.default and value is not None
        if is_left_out or not spec.present(version):
            continue
        shown[_camel(spec.name)] = _shown(spec, value, version)
    return shown


def _shown(spec: FieldSpec, value: Any, version: int) -> Any:
    if value is None:
        return None
    if spec.is_array:
        item = spec.item()
        return [_shown(item, each, version) for each in value]
    if isinstance(value, UUID):
        return uuid_to_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()
    return as_json(value, version) if isinstance(spec.kind, type) else value


def _camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


def dumps(value: Any) -> str:
    """JSON without spaces, as Java's tools print it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def unfold_members(value: dict[str, Any]) -> dict[str, Any]:
    """A classic group's metadata with what its consumers told each other in words, not in bytes."""
    if value.get("protocolType") != _CONSUMER_PROTOCOL:
        return value
    from base64 import b64decode

    from headrace.wire import consumer_protocol as protocol

    parts = {
        "subscription": protocol.ConsumerProtocolSubscription,
        "assignment": protocol.ConsumerProtocolAssignment,
    }
    for member in value.get("members") or ():
        for name, kind in parts.items():
            data = b64decode(member[name])
            try:
                member[name] = _consumer_protocol(kind, data)
            except HeadraceError:
                pass  # whatever it is, the bytes stand there already
    return value


def _consumer_protocol(kind: type, data: bytes) -> dict[str, Any]:
    from headrace.errors import CorruptData
    from headrace.wire import decode as decode_message

    if len(data) < _NUMBER_SIZE:
        raise CorruptData("there are no bytes")
    version = _number(data)
    return as_json(decode_message(kind, version, data, _NUMBER_SIZE), version)


class CoordinatorFormatter:
    """What the formatters for internal topics print: one JSON object per record, in a line.

    Kafka 4 writes them one after another without an end of the line; nobody could read that.
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic

    def line(self, message: Any) -> bytes:
        key = message.key()
        if key is None:
            return b""
        decoded = decode(self._topic, key, message.value())
        if isinstance(decoded, int) or (
            self._topic.types and decoded.type not in self._topic.types
        ):
            return b""
        value = None
        if decoded.value is not None:
            value = {"version": decoded.version, "data": decoded.value}
        shown = {"key": {"type": decoded.type, "data": decoded.key}, "value": value}
        return dumps(shown).encode() + b"\n"
