"""Bodies decoded as strictly as the JVM's registry does.

A property that is not known is 422, unless the client sends
`Confluent-Accept-Unknown-Properties: true`.
"""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from headrace.http.bodies import decode
from headrace.http.faults import NotAsDeclared, NotJson
from headrace.registry.errors import RegistryError

_MAX_DEPTH: Final = 64


def decode_strictly(raw: bytes, kind: Any) -> Any:
    """The body as a value of this type, which has every property of the body."""
    read = decode(raw, Any)
    try:
        _refuse_unknown(read, kind, _MAX_DEPTH)
        return msgspec.convert(read, kind)
    except msgspec.ValidationError as error:
        raise NotAsDeclared(str(error)) from None


def _refuse_unknown(value: object, kind: Any, depth: int) -> None:
    """422 for a property that is not one of the type's, at any depth."""
    if depth == 0:
        raise NotJson("nested too deeply")
    struct, element = _shape(kind)
    if isinstance(value, list) and element is not None:
        for each in value:
            _refuse_unknown(each, element, depth - 1)
    elif isinstance(value, dict) and struct is not None:
        fields = _fields(struct)
        for name, each in value.items():
            if name not in fields:
                raise RegistryError(422, f"Unrecognized field: {name}")
            _refuse_unknown(each, fields[name], depth - 1)


@lru_cache(maxsize=256)
def _shape(kind: Any) -> tuple[Any, Any]:
    """The struct among the alternatives of a type, and the type of a list's elements."""
    alternatives = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    struct = element = None
    for each in alternatives:
        if isinstance(each, type) and issubclass(each, msgspec.Struct):
            struct = each
        elif get_origin(each) is list:
            (element,) = get_args(each)
    return struct, element


@lru_cache(maxsize=256)
def _fields(struct: Any) -> dict[str, Any]:
    hints = get_type_hints(struct)
    names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
    return {encoded: hints[name] for encoded, name in names}
