"""Memory as kernels see it: arrays that a caller lends, and addresses, which no type protects.

Arrays belong to the caller for the whole of a call. numba would count who uses them at every step,
which costs ten times the work itself; a kernel that borrows its arrays counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from headrace.pipelines.kernels.compilation import inlined

Bytes: TypeAlias = NDArray[np.uint8]
Words: TypeAlias = NDArray[np.int64]
Arrays = TypeVar("Arrays")


def _borrowed(context: Any, arrays: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, arrays, arguments[0])

    return arrays(arrays), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        place = context.data_model_manager[kind].get_field_position("meminfo")
        nobody = cgutils.get_null_value(value.type.elements[place])  # type: ignore[no-untyped-call]
        return builder.insert_value(value, nobody, place)
    if isinstance(kind, types.BaseTuple):
        for index, each in enumerate(cast(Any, kind).types):
            part = _without_owner(context, builder, each, builder.extract_value(value, index))
            value = builder.insert_value(value, part, index)
    return value


def _pointer(builder: Any, address: Any, bits: int) -> Any:
    return builder.inttoptr(address, ir.IntType(bits).as_pointer())


def _load(bits: int) -> Callable[[int], int]:
    def load(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            loaded = builder.load(_pointer(builder, arguments[0], bits), align=1)
            return builder.zext(loaded, ir.IntType(64))

        return types.int64(types.int64), generate

    return cast("Callable[[int], int]", intrinsic(load))


def _store_byte(context: Any, address: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = builder.trunc(arguments[1], ir.IntType(8))
        builder.store(byte, _pointer(builder, arguments[0], 8), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


def _copy_bytes(context: Any, target: Any, source: Any, size: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source, size = arguments
        pieces = _pointer(builder, target, 8), _pointer(builder, source, 8)
        cgutils.raw_memcpy(builder, *pieces, size, 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


borrowed: Final = cast("Callable[[Arrays], Arrays]", intrinsic(_borrowed))
"""A tuple of arrays, and of tuples of them, that are used without being counted."""
load_byte: Final = _load(8)
"""The byte at an address, 0 to 255."""
load_word: Final = _load(32)
"""The four bytes at an address, lowest first, as an unsigned number."""
store_byte: Final = cast("Callable[[int, Any], None]", intrinsic(_store_byte))
"""Write the lowest eight bits of a number."""
copy_bytes: Final = cast("Callable[[int, int, int], None]", intrinsic(_copy_bytes))
"""Copy so many bytes to the first address from the second; the two pieces must not overlap."""


@inlined
def address_of(array: Bytes) -> Any:
    """Where an array begins."""
    return np.int64(array.ctypes.data)
