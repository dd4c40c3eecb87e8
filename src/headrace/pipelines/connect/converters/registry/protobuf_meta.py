"""The parameters that `confluent.field_meta` gives a field.

The option is an extension, which the pool that describes a field does not tie to the options that
it hands out: their bytes are read with the message that the same pool has for it.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import message_factory

_FIELD_META: Final = 1088
_LENGTH_DELIMITED: Final = 2
_FIXED: Final = {1: 8, 5: 4}


def parameters_of(field: Any) -> dict[str, str]:
    """What a field's options say beside its type."""
    data = field.GetOptions().SerializeToString()
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _LENGTH_DELIMITED:
            size, at = _varint(data, at)
            if number == _FIELD_META:
                return _parameters(field.file.pool, data[at : at + size])
            at += size
        elif wire in _FIXED:
            at += _FIXED[wire]
        else:
            _, at = _varint(data, at)
    return {}


def _parameters(pool: Any, data: bytes) -> dict[str, str]:
    meta = message_factory.GetMessageClass(pool.FindMessageTypeByName("confluent.Meta"))()
    meta.ParseFromString(data)
    params: dict[str, str] = dict(meta.params)
    return params


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
