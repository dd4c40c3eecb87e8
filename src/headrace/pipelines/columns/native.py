"""The few words that the kernels are written in: memory by address, and a compiler that remembers.

A fetch is a list of batches, each somewhere in memory. To hand them to compiled code as arrays
would take longer than to decode a small one, so kernels take addresses: plain integers, which no
type protects. Whoever uses `load_byte` and its kin has held the address against its bounds before.

The module refuses to know records and columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

int64: Final = types.int64
uint8s: Final = types.uint8[::1]
int32s: Final = types.int32[::1]
int64s: Final = types.int64[::1]


def tuple_type(kind: type[tuple[Any, ...]], *members: Any) -> Any:
    """The type of a named tuple with members of these types."""
    return types.NamedTuple(members, kind)  # type: ignore[no-untyped-call]


def compiled(signature: Any) -> Callable[[Kernel], Kernel]:
    """Compile for exactly these types when the module is imported, or take what an earlier process
    left on the disk. Where nothing can be left, every process compiles for itself.
    """

    def compile_now(function: Kernel) -> Kernel:
        try:
            return cast(Kernel, numba.njit(signature, cache=True, error_model="numpy")(function))
        except (OSError, RuntimeError):
            return cast(Kernel, numba.njit(signature, error_model="numpy")(function))

    return compile_now


def inlined(function: Kernel) -> Kernel:
    """Part of the kernels that call it."""
    return cast(Kernel, numba.njit(error_model="numpy")(function))


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


load_byte: Final = _load(8)
"""The byte at an address, 0 to 255."""
load_word: Final = _load(32)
"""The four bytes at an address, lowest first, as an unsigned number."""
store_byte: Final = cast("Callable[[int, int], None]", intrinsic(_store_byte))
"""Write the lowest eight bits of a number."""
copy_bytes: Final = cast("Callable[[int, int, int], None]", intrinsic(_copy_bytes))
"""Copy so many bytes to the first address from the second; the two pieces must not overlap."""
