"""Arrow arrays to Protobuf messages.

As with Avro, the array and the descriptor are walked together for each batch, which gives the
kernel one piece of memory and one program. Fields meet by name; one that is null or missing in the
column is left out, and a column's field that the message has not is an error, as in spark-protobuf.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor import FieldDescriptor as F
from numpy.typing import NDArray

from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.serdes.packing import Packing, binary_array
from headrace.pipelines.serdes.protobuf import encode_kernel as op
from headrace.pipelines.serdes.protobuf import wire
from headrace.pipelines.serdes.protobuf.messages import WRAPPERS, is_map, is_moment

FIRST_BYTES_PER_ROW: Final = 64
MAX_DEPTH: Final = 100

_CODES: Final = {
    **dict.fromkeys((F.TYPE_SINT32, F.TYPE_SINT64), op.ZIGZAG),
    **dict.fromkeys((F.TYPE_FIXED32, F.TYPE_SFIXED32, F.TYPE_FLOAT), op.FOUR),
    **dict.fromkeys((F.TYPE_FIXED64, F.TYPE_SFIXED64, F.TYPE_DOUBLE), op.EIGHT),
    **dict.fromkeys((F.TYPE_STRING, F.TYPE_BYTES), op.COUNTED),
}
_WIRE_TYPES: Final = {
    op.VARINT: wire.VARINT,
    op.ZIGZAG: wire.VARINT,
    op.FOUR: wire.FOUR_BYTES,
    op.EIGHT: wire.EIGHT_BYTES,
    op.COUNTED: wire.COUNTED,
    op.MOMENT: wire.COUNTED,
}
_NARROW: Final = frozenset({F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32, F.TYPE_ENUM})
_UNSIGNED: Final = frozenset({F.TYPE_UINT32, F.TYPE_UINT64, F.TYPE_FIXED32, F.TYPE_FIXED64})


def encode(values: pa.Array, descriptor: Descriptor) -> pa.Array:
    """Each value as the bytes of a message; null for null."""
    batch = _Batch()
    batch.message(values, descriptor, "", 0)
    return batch.run(values)


@dataclass(slots=True)
class _Batch:
    packing: Packing = field(default_factory=Packing)
    program: list[list[int]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    def emit(self, code: int, path: str, column: int = -1, a: int = 0, b: int = 0) -> int:
        self.program.append([code, column, a, b])
        self.paths.append(path)
        return len(self.program) - 1

    def run(self, values: pa.Array) -> pa.Array:
        self.emit(op.END, "")
        program = np.array(self.program, dtype=np.int64)
        columns, memory = self.packing.finish()
        present = values.is_valid().to_numpy(zero_copy_only=False).view(np.uint8)
        out = np.empty(FIRST_BYTES_PER_ROW * len(present) + 1024, dtype=np.uint8)
        starts = np.full(len(present) + 1, len(out), dtype=np.int64)
        stack = np.empty((op.MAX_FRAMES, op.FRAME_FIELDS), dtype=np.int64)
        left = len(present)
        while True:
            reason, left, counter = op.encode_rows(
                program, columns, memory, present, out, starts, left, stack
            )
            if reason == op.DONE:
                return binary_array(present, starts - starts[0], out[starts[0] :])
            if reason == op.NULL:
                raise CorruptData(
                    f"row {left - 1} of the batch cannot be written as Protobuf: "
                    f"{self.paths[counter]} is null, and a list or map has no nulls, a required "
                    "field neither"
                )
            larger = np.empty(2 * len(out), dtype=np.uint8)
            starts += len(out)
            larger[len(out) :] = out
            out = larger

    def message(self, array: pa.Array, descriptor: Descriptor, path: str, depth: int) -> None:
        """The fields of the elements of a struct, the highest number first."""
        if not pa.types.is_struct(array.type):
            raise ConfigError(
                f"{path or 'the value'} is {array.type} and cannot be written as the message "
                f"{descriptor.full_name}: make it a struct with the message's fields"
            )
        if depth > MAX_DEPTH:
            raise ConfigError(f"{path}: messages are nested more than {MAX_DEPTH} levels deep")
        names = {each.name: index for index, each in enumerate(array.type)}
        known = {each.name: each for each in descriptor.fields}
        extra = sorted(set(names) - set(known))
        if extra:
            raise ConfigError(
                f"the column has fields that {descriptor.full_name} has not: {', '.join(extra)}; "
                "select those that are to be written, or add them to the message"
            )
        for each in sorted(descriptor.fields, key=lambda each: -each.number):
            below = f"{path}.{each.name}" if path else each.name
            if each.name in names:
                self._field(array.field(names[each.name]), each, below, depth)
            elif each.is_required:
                raise ConfigError(f"the column has no field {below}, which is required")

    def _field(self, array: pa.Array, each: FieldDescriptor, path: str, depth: int) -> None:
        if pa.types.is_null(array.type):
            return
        if not each.is_repeated:
            if each.is_required:
                self.emit(op.REQUIRED, path, self.packing.add(array))
            self._single(array, each, path, depth, tagged=True, leave_zero=not each.has_presence)
        elif each.type == F.TYPE_MESSAGE and is_map(each.message_type):
            self._map(array, each, path, depth)
        else:
            self._repeated(array, each, path, depth)

    def _single(
        self,
        array: pa.Array,
        each: FieldDescriptor,
        path: str,
        depth: int,
        *,
        tagged: bool,
        leave_zero: bool,
    ) -> None:
        if each.type == F.TYPE_GROUP:
            raise ConfigError(f"{path} is a group, which cannot be written; make it a message")
        if each.type != F.TYPE_MESSAGE or is_moment(each.message_type):
            code, column = self._scalar(array, each, path)
            tag = each.number << 3 | _WIRE_TYPES[code] if tagged else 0
            self.emit(code, path, column, tag, int(leave_zero and code != op.MOMENT))
            return
        start = self.emit(op.MESSAGE, path, self.packing.add(array))
        descriptor = each.message_type
        if descriptor.full_name in WRAPPERS and not pa.types.is_struct(array.type):
            self._single(array, descriptor.fields[0], path, depth, tagged=True, leave_zero=True)
        else:
            self.message(array, descriptor, path, depth + 1)
        self.emit(op.LENGTH, path, a=each.number << 3 | wire.COUNTED)
        self.program[start][op.A] = len(self.program)

    def _repeated(self, array: pa.Array, each: FieldDescriptor, path: str, depth: int) -> None:
        if not pa.types.is_list(array.type) and not pa.types.is_large_list(array.type):
            raise ConfigError(f"{path} is {array.type} and cannot be written as a repeated field")
        packed = each.is_packed
        start = self.emit(op.LIST, path, self.packing.add(array, offsets=array.offsets))
        items = array.values
        if items.null_count:
            self.emit(op.REQUIRED, path, self.packing.add(items))
        self._single(items, each, path, depth, tagged=not packed, leave_zero=False)
        self.emit(op.NEXT, path, a=start + 1, b=int(packed))
        if packed:
            self.emit(op.LENGTH, path, a=each.number << 3 | wire.COUNTED)
        self.program[start][op.A] = len(self.program)

    def _map(self, array: pa.Array, each: FieldDescriptor, path: str, depth: int) -> None:
        if not pa.types.is_map(array.type):
            raise ConfigError(f"{path} is {array.type} and cannot be written as a map")
        key, value = each.message_type.fields
        start = self.emit(op.LIST, path, self.packing.add(array, offsets=array.offsets))
        # Every entry is a message of its own; the table's last column is never null.
        self.emit(op.MESSAGE, path)
        self._single(array.items, value, f"{path}{{}}", depth, tagged=True, leave_zero=False)
        self._single(array.keys, key, f"{path}{{key}}", depth, tagged=True, leave_zero=False)
        self.emit(op.LENGTH, path, a=each.number << 3 | wire.COUNTED)
        self.emit(op.NEXT, path, a=start + 1)
        self.program[start][op.A] = len(self.program)

    def _scalar(self, array: pa.Array, each: FieldDescriptor, path: str) -> tuple[int, int]:
        """The instruction for a value and the column in the form that it reads."""
        try:
            if each.type == F.TYPE_MESSAGE:
                return op.MOMENT, self.packing.add(array, words=_micros(array))
            code = _CODES.get(each.type, op.VARINT)
            if code == op.COUNTED:
                return code, self.packing.add_bytes(_bytes(array, each))
            return code, self.packing.add(array, words=_words(array, each, path))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ConfigError(
                f"{path} is {array.type} and cannot be written as the field "
                f"{each.full_name}: {error}"
            ) from None


def _micros(array: pa.Array) -> NDArray[np.int64]:
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz))
    elif pa.types.is_duration(array.type):
        array = array.cast(pa.duration("us"))
    else:
        raise pa.ArrowInvalid("it takes a timestamp or an interval")
    micros: NDArray[np.int64] = array.view(pa.int64()).fill_null(0).to_numpy()
    return micros


def _bytes(array: pa.Array, each: FieldDescriptor) -> pa.Array:
    text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    binary = pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)
    if not text and not (binary and each.type == F.TYPE_BYTES):
        raise pa.ArrowInvalid("it takes " + ("text" if each.type == F.TYPE_STRING else "bytes"))
    return array


def _words(array: pa.Array, each: FieldDescriptor, path: str) -> NDArray[np.int64]:
    """The values as 64-bit words of which the kernel writes all, or the lower half."""
    words: NDArray[np.int64]
    if each.type == F.TYPE_ENUM and pa.types.is_string(array.type):
        return _symbols(array, each, path)
    if each.type == F.TYPE_BOOL:
        if not pa.types.is_boolean(array.type):
            raise pa.ArrowInvalid("it takes a boolean")
        words = array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)
        return words
    if each.type in (F.TYPE_FLOAT, F.TYPE_DOUBLE):
        if not pa.types.is_floating(array.type):
            raise pa.ArrowInvalid("it takes a floating-point number")
        narrow = each.type == F.TYPE_FLOAT
        floats = array.cast(pa.float32() if narrow else pa.float64()).fill_null(0.0).to_numpy()
        words = floats.view(np.int32 if narrow else np.int64).astype(np.int64)
        return words
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    if pa.types.is_decimal(array.type) and each.type in _UNSIGNED:
        words = array.cast(pa.uint64()).fill_null(0).to_numpy().view(np.int64)
        return words
    if not pa.types.is_integer(array.type):
        raise pa.ArrowInvalid("it takes a whole number")
    if each.type in _NARROW:
        array = array.cast(pa.int32())
    words = array.cast(pa.int64()).fill_null(0).to_numpy()
    # Spark's ints carry unsigned numbers by their bits; on the wire the upper half must be zero.
    half = each.type == F.TYPE_UINT32 and pa.types.is_int32(array.type)
    return words & 0xFFFFFFFF if half else words


def _symbols(array: pa.Array, each: FieldDescriptor, path: str) -> NDArray[np.int64]:
    values = each.enum_type.values
    found = pc.index_in(array, value_set=pa.array([value.name for value in values], array.type))
    unknown = pc.and_(found.is_null(), array.is_valid())
    if pc.any(unknown).as_py():
        name = array.filter(unknown)[0].as_py()
        raise CorruptData(f"{path}: {name} is not a value of the enum {each.enum_type.full_name}")
    numbers = np.array([value.number for value in values], dtype=np.int64)
    words: NDArray[np.int64] = numbers[found.fill_null(0).to_numpy()]
    return words
