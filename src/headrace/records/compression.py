"""Kafka's five codecs behind one pair of functions, with a limit on what may come out.

The native library is loaded when the first compressed batch arrives, not before: a broker that only
passes batches through never needs it. What is written here is what Java clients can read: LZ4
frames of independent blocks without a content checksum, and snappy in xerial's framing.

xerial's framing (all integers big-endian):

    OFFSET  SIZE  TYPE   FIELD
    0       8     bytes  magic 82 53 4e 41 50 50 59 00
    8       4     int32  version, written as 1
    12      4     int32  oldest version that can read it, written as 1
    16      4     int32  size of the block that follows
    20      n     bytes  one raw snappy block of at most 32 KiB of content
    …                    further sizes and blocks up to the end

The module refuses to know what the bytes mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cache
from mmap import mmap
from struct import Struct
from types import ModuleType
from typing import Final

from headrace.errors import ConfigError, CorruptData
from headrace.runtime import pipes
from headrace.types import Buffer

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
XERIAL_BLOCK_BYTES: Final = 32 * 1024

WINDOW_BYTES: Final = 32 * 1024
"""The largest piece that `windows` gives."""

MAX_HISTORY_BYTES: Final = 32 * 1024 * 1024
"""What a zstd decoder may keep of the content to refer back to. A frame that asks for more may do
so as long as it holds no more than this."""

_BLOCK_SIZE: Final = Struct(">i")
_SMALL_OUTPUT_BYTES: Final = 64 * 1024
_USUAL_RATIO: Final = 4
_SNAPPY_MAX_RATIO: Final = 22  # a copy of 64 bytes takes three
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_MAX_FRAMES: Final = 1024


class Codec(IntEnum):
    """The codec of a batch, as bits 0 to 2 of its attributes say it."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


LEVELS: Final[dict[Codec, tuple[range, int]]] = {
    Codec.GZIP: (range(1, 10), 6),
    Codec.LZ4: (range(1, 18), 9),
    Codec.ZSTD: (range(-131072, 23), 3),
}
"""Allowed levels and the default, as `compression.{gzip,lz4,zstd}.level` have them (KIP-390).

Kafka writes gzip's default as -1 and means zlib's own, which is 6; both spellings are taken.
"""

_BY_NAME: Final = {codec.name.lower(): codec for codec in Codec} | {"uncompressed": Codec.NONE}


def codec_named(name: str) -> Codec:
    """The codec that a setting names; topics spell the absence of one `uncompressed`."""
    codec = _BY_NAME.get(name)
    if codec is None:
        raise ConfigError(f"unknown codec {name!r}: allowed are {', '.join(sorted(_BY_NAME))}")
    return codec


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """`data` as the payload of a batch with this codec."""
    if codec == Codec.NONE:
        return bytes(data)
    if codec == Codec.SNAPPY:
        return _compress_snappy(data)
    chosen = _checked_level(codec, level)
    library = _library()
    if codec == Codec.GZIP:
        return bytes(library.gzip.compress(data, level=chosen))
    if codec == Codec.ZSTD:
        return bytes(library.zstd.compress(data, level=chosen))
    compressor = library.lz4.Compressor(
        level=_lz4_level(chosen), content_checksum=False, block_linked=False
    )
    compressor.compress(bytes(data))
    return bytes(compressor.finish())


def decompress(codec: Codec, data: Buffer, max_bytes: int) -> bytes:
    """The content of a batch's payload. More than `max_bytes` of it is refused, not allocated."""
    if codec == Codec.NONE:
        if len(data) > max_bytes:
            raise CorruptData(f"{len(data)} bytes of records exceed the limit of {max_bytes}")
        return bytes(data)
    if codec == Codec.SNAPPY:
        return _decompress_snappy(memoryview(data), max_bytes)
    return _decompress_within(codec, data, max_bytes)


class Oversized(CorruptData):
    """The content of a payload exceeds the limit."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"the records exceed the limit of {max_bytes} bytes when decompressed")


# Memory into which small content is decompressed. It is used by one thread at a time; where it is
# in use already, a second piece is made and forgotten.
_scratch: Final[list[bytearray]] = []


def decompress_small(codec: Codec, data: Buffer, max_bytes: int) -> bytes | None:
    """The content of a compressed payload if it has at most `max_bytes`; None if it has more, or if
    it cannot be decompressed: `windows` says why.

    For content that is small as a rule: what does not fit costs the time to decompress `max_bytes`.
    """
    if codec == Codec.SNAPPY:
        try:
            return _decompress_snappy(memoryview(data), max_bytes)
        except CorruptData:
            return None
    into, failure = _decompressor(codec)
    try:
        scratch = _scratch.pop()
    except IndexError:
        scratch = bytearray()
    if len(scratch) < max_bytes:
        scratch = bytearray(max_bytes)
    try:
        with memoryview(scratch) as whole, whole[:max_bytes] as room:
            return room[: into(data, room)].tobytes()
    except failure:
        return None
    finally:
        if not _scratch:
            _scratch.append(scratch)


def windows(codec: Codec, data: Buffer, max_bytes: int) -> Iterator[Buffer]:
    """The content of a payload piece by piece, so that it is never in memory as a whole.

    Raises CorruptData where the data is damaged and Oversized where more than `max_bytes` come out.
    The caller's thread waits for another one that decompresses.
    """
    room = max_bytes
    if codec == Codec.NONE:
        pieces: Iterator[Buffer] = _cut(memoryview(data))
    elif codec == Codec.SNAPPY:
        pieces = (
            piece
            for block in _snappy_blocks(memoryview(data), max_bytes)
            for piece in _cut(memoryview(block))
        )
    else:
        if codec == Codec.ZSTD and _zstd_history_bytes(bytes(data)) > MAX_HISTORY_BYTES:
            room = max_bytes = min(max_bytes, MAX_HISTORY_BYTES)
        pieces = _through_pipe(codec, data)
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise Oversized(max_bytes)
        yield piece


def _cut(content: memoryview) -> Iterator[Buffer]:
    for start in range(0, len(content), WINDOW_BYTES):
        yield content[start : start + WINDOW_BYTES]


def _through_pipe(codec: Codec, data: Buffer) -> Iterator[Buffer]:
    file = _library().File
    into, failure = _decompressor(codec)
    try:
        yield from pipes.windows(
            lambda path: into(data, file(path, read=False, write=True)), WINDOW_BYTES
        )
    except failure as error:
        raise CorruptData(f"{codec.name.lower()} data is damaged: {error}") from None


def _zstd_history_bytes(data: bytes) -> int:
    """The largest window that a frame of this data may ask a decoder to keep.

    Frames may follow each other, and where one ends is known only to who decompresses it. So every
    place is believed that looks like the beginning of a frame.
    """
    largest = 0
    at = data.find(_ZSTD_MAGIC)
    frames = 0
    while at >= 0 and at + 6 <= len(data):
        frames += 1
        if frames > _ZSTD_MAX_FRAMES:
            return MAX_HISTORY_BYTES + 1
        descriptor = data[at + 4]
        if descriptor & 0x20:  # a single segment: the window is the content, whose size is stated
            width = (1, 2, 4, 8)[descriptor >> 6]
            start = at + 5 + (0, 1, 2, 4)[descriptor & 3]
            window = int.from_bytes(data[start : start + width], "little")
        else:
            exponent, mantissa = divmod(data[at + 5], 8)
            window = (1 << 10 + exponent) // 8 * (8 + mantissa)
        largest = max(largest, window)
        at = data.find(_ZSTD_MAGIC, at + 1)
    return largest


@cache
def _decompressor(codec: Codec) -> tuple[Callable[..., int], type[Exception]]:
    """What decompresses into memory or a file, and the error that it raises."""
    library = _library()
    into: Callable[..., int] = {
        Codec.GZIP: library.gzip.decompress_into,
        Codec.LZ4: library.lz4.decompress_into,
        Codec.ZSTD: library.zstd.decompress_into,
    }[codec]
    return into, library.DecompressionError


def _library() -> ModuleType:
    import cramjam

    return cramjam


def _checked_level(codec: Codec, level: int | None) -> int:
    allowed, default = LEVELS[codec]
    if level is None or (codec == Codec.GZIP and level == -1):
        return default
    if level not in allowed:
        raise ConfigError(
            f"{codec.name.lower()} has no compression level {level}: "
            f"allowed are {allowed.start} to {allowed.stop - 1}"
        )
    return level


def _lz4_level(level: int) -> int:
    """Kafka's level for the C library.

    The default 9 means the fast compressor, for the sake of age; every other level means the slow
    one, whose levels begin at 3 in C and end at 12.
    """
    if level == LEVELS[Codec.LZ4][1]:
        return 0
    return min(max(level, 3), 12)


def _decompress_within(codec: Codec, data: Buffer, max_bytes: int) -> bytes:
    """Decompress into a buffer that cannot grow, so that a bomb has nothing to fill.

    Most data fits a small guess. The rest gets an anonymous mapping as large as the limit, of which
    the kernel backs only the pages that are written.
    """
    into, failure = _decompressor(codec)
    guess = min(max_bytes, max(_SMALL_OUTPUT_BYTES, len(data) * _USUAL_RATIO))
    scratch = bytearray(guess)
    try:
        size = into(data, scratch)
        return bytes(memoryview(scratch)[:size])
    except failure as error:
        if guess == max_bytes:
            raise _undecodable(codec, max_bytes, error) from None
    with mmap(-1, max_bytes) as mapping:
        try:
            return mapping[: into(data, mapping)]
        except failure as error:
            raise _undecodable(codec, max_bytes, error) from None


def _undecodable(codec: Codec, max_bytes: int, error: Exception) -> CorruptData:
    return CorruptData(
        f"{codec.name.lower()} data is damaged or holds more than the limit of {max_bytes} bytes: "
        f"{error}"
    )


def _compress_snappy(data: Buffer) -> bytes:
    compress_raw = _library().snappy.compress_raw
    view = memoryview(data)
    parts: list[Buffer] = [XERIAL_HEADER]
    for start in range(0, len(view), XERIAL_BLOCK_BYTES):
        block = compress_raw(view[start : start + XERIAL_BLOCK_BYTES])
        parts += (_BLOCK_SIZE.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    return b"".join(_snappy_blocks(data, max_bytes))


def _snappy_blocks(data: memoryview, max_bytes: int) -> Iterator[Buffer]:
    """Both spellings: xerial's blocks (Java and most clients) and one raw block (librdkafka).

    A raw block cannot begin with xerial's magic: read as snappy it would open with a reference to
    content before the beginning. The versions after the magic are not looked at, since some writers
    have them in the wrong byte order.
    """
    if bytes(data[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
        yield _decompress_block(data, max_bytes)
        return
    room = max_bytes
    position = len(XERIAL_HEADER)
    if len(data) < position:
        raise CorruptData(f"snappy data ends after {len(data)} bytes, inside xerial's header")
    while position < len(data):
        start = position + _BLOCK_SIZE.size
        if start > len(data):
            raise CorruptData(f"snappy data ends at byte {len(data)}, inside the size of a block")
        (size,) = _BLOCK_SIZE.unpack_from(data, position)
        position = start + size
        if size < 0 or position > len(data):
            raise CorruptData(
                f"a snappy block of {size} bytes at {start} does not fit in {len(data)} bytes"
            )
        block = _decompress_block(data[start:position], room)
        room -= len(block)
        yield block


def _decompress_block(block: memoryview, max_bytes: int) -> Buffer:
    library = _library()
    try:
        size: int = library.snappy.decompress_raw_len(block)
        if size > len(block) * _SNAPPY_MAX_RATIO + 64:
            raise CorruptData(f"a snappy block of {len(block)} bytes says that it holds {size}")
        if size > max_bytes:
            raise Oversized(max_bytes)
        content: Buffer = library.snappy.decompress_raw(block)
    except library.DecompressionError as error:
        raise CorruptData(f"snappy data is damaged: {error}") from None
    return content
