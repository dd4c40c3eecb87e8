"""How a record of an internal topic becomes bytes: one table per topic says what its types are.

    PART   SIZE  TYPE    FIELD
    key       2  int16   type      which kind of record this is; it decides about key and value
              n          fields    of the key, in its only version
    value     2  int16   version   of the value; there are no bytes at all in a tombstone
              n          fields    of the value in this version

The fields are declared like those of requests, see `headrace.wire.schema`. Nothing here knows what
a record means; a record of a type that is not in the table belongs to somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Final, Generic, NamedTuple, TypeVar

from headrace.coordinator.effects import StateRecord
from headrace.errors import ClientFault, CorruptData
from headrace.types import Buffer
from headrace.wire import decode, encode_bytes

_KEY_VERSION: Final = 0
_NUMBER: Final = Struct(">h")

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Message = TypeVar("_Message")


class RecordType(NamedTuple, Generic[_Key, _Value]):
    """What a type number stands for, and the version in which Apache Kafka writes such a value."""

    key: type[_Key]
    value: type[_Value]
    written_version: Callable[[object], int] = lambda _: 0


class RecordFormats(Generic[_Key, _Value]):
    """The record types of one internal topic, by number.

    Where two numbers have the same key class, the later one of the table is written.
    """

    def __init__(self, topic: str, types: Mapping[int, RecordType[_Key, _Value]]) -> None:
        self.name = topic
        self._types = types
        self._numbers: dict[type, int] = {each.key: number for number, each in types.items()}

    def encode(self, record: StateRecord[_Key, _Value]) -> tuple[bytes, bytes | None]:
        """Key and value as they stand in the log."""
        number = self._numbers[type(record.key)]
        key = _NUMBER.pack(number) + encode_bytes(record.key, _KEY_VERSION)
        if record.value is None:
            return key, None
        version = self._types[number].written_version(record.value)
        return key, _NUMBER.pack(version) + encode_bytes(record.value, version)

    def decode(self, key: Buffer | None, value: Buffer | None) -> StateRecord[_Key, _Value] | None:
        """What key and value say; None if the type is not one of these."""
        key = bytes(key) if key is not None else b""
        record_type = self._types.get(self._number(key, "key"))
        if record_type is None:
            return None
        decoded_key = self._decode(record_type.key, _KEY_VERSION, key)
        if value is None:
            return StateRecord(decoded_key, None)
        value = bytes(value)
        version = self._number(value, "value")
        return StateRecord(decoded_key, self._decode(record_type.value, version, value))

    def _number(self, buf: bytes, part: str) -> int:
        if len(buf) < _NUMBER.size:
            raise CorruptData(f"{self.name}: a record whose {part} has {len(buf)} bytes")
        (number,) = _NUMBER.unpack_from(buf)
        return int(number)

    def _decode(self, cls: type[_Message], version: int, buf: bytes) -> _Message:
        try:
            return decode(cls, version, buf, _NUMBER.size)
        except ClientFault as fault:
            raise CorruptData(f"{self.name}: {fault}") from fault
