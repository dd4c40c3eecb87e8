"""Finds the value that an encoder stumbled over, so that the error names it.

Encoders check nothing beforehand; this walk happens only after one has failed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from .faults import UnencodableMessage
from .primitives import MAX_STRING_BYTES
from .schema import FieldSpec, fields_of, info
from .types import UUID_KIND, Fixed, Text


def unencodable(msg: Any, version: int, fault: Exception) -> UnencodableMessage:
    """The error for a message that failed to encode: the first bad field, else the bare fault."""
    name = info(type(msg)).name
    return UnencodableMessage(name, version, next(_complaints(msg, version, name), str(fault)))


def _complaints(value: Any, version: int, path: str) -> Iterator[str]:
    cls: type = type(value)
    for field in fields_of(cls):
        if field.present(version):
            yield from _field_complaints(
                field, getattr(value, field.name, None), version, f"{path}.{field.name}"
            )


def _field_complaints(field: FieldSpec, value: Any, version: int, path: str) -> Iterator[str]:
    is_left_out = field.tag is not None and isinstance(field.kind, type)
    if value is None:
        if not field.nullable(version) and (field.is_array or not is_left_out):
            yield f"{path} is None, but this version does not allow null there"
    elif not field.is_array:
        yield from _item_complaints(field, value, version, path)
    elif not isinstance(value, (list, tuple)):
        yield f"{path} is {value!r}, not a list"
    else:
        for index, item in enumerate(value):
            yield from _item_complaints(field, item, version, f"{path}[{index}]")


def _item_complaints(field: FieldSpec, value: Any, version: int, path: str) -> Iterator[str]:
    kind = field.kind
    if isinstance(kind, type):
        if isinstance(value, kind):
            yield from _complaints(value, version, path)
        else:
            yield f"{path} is {value!r}, not {kind.__name__}"
    elif isinstance(kind, Text):
        if not isinstance(value, str):
            yield f"{path} is {value!r}, not a string"
        elif len(value.encode(errors="replace")) > MAX_STRING_BYTES:
            yield f"{path} is longer than the {MAX_STRING_BYTES} bytes of a string"
    elif isinstance(kind, Fixed):
        try:
            struct.pack(">" + kind.code, value.bytes if kind is UUID_KIND else value)
        except (struct.error, AttributeError, TypeError):
            yield f"{path} is {value!r}, not {kind.name}"
    elif not hasattr(value, "__len__"):
        yield f"{path} is {value!r}, not {kind.name}"
