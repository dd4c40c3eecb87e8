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

from collections.abc import Callable
from enum import IntEnum
from mmap import mmap
from struct import Struct
from types import ModuleType
from typing import Final

from headrace.errors import ConfigError, CorruptData
from headrace.types import Buffer

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
XERIAL_BLOCK_BYTES: Final = 32 * 1024

_BLOCK_SIZE: Final = Struct(">i")
_SMALL_OUTPUT_BYTES: Final = 64 * 1024
_USUAL_RATIO: Final = 4


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
    library = _library()
    into: Callable[[Buffer, bytearray | mmap], int] = {
        Codec.GZIP: library.gzip.decompress_into,
        Codec.LZ4: library.lz4.decompress_into,
        Codec.ZSTD: library.zstd.decompress_into,
    }[codec]
    return _decompress_within(codec, into, data, max_bytes)


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


def _decompress_within(
    codec: Codec,
    into: Callable[[Buffer, bytearray | mmap], int],
    data: Buffer,
    max_bytes: int,
) -> bytes:
    """Decompress into a buffer that cannot grow, so that a bomb has nothing to fill.

    Most data fits a small guess. The rest gets an anonymous mapping as large as the limit, of which
    the kernel backs only the pages that are written.
    """
    failure = _library().DecompressionError
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
    """Both spellings: xerial's blocks (Java and most clients) and one raw block (librdkafka).

    A raw block cannot begin with xerial's magic: read as snappy it would open with a reference to
    content before the beginning. The versions after the magic are not looked at, since some writers
    have them in the wrong byte order.
    """
    if bytes(data[: len(XERIAL_MAGIC)]) != XERIAL_MAGIC:
        return bytes(_decompress_block(data, max_bytes))
    blocks = []
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
        blocks.append(block)
    return b"".join(blocks)


def _decompress_block(block: memoryview, max_bytes: int) -> Buffer:
    library = _library()
    try:
        size: int = library.snappy.decompress_raw_len(block)
        if size > max_bytes:
            raise CorruptData(f"snappy data holds {size} bytes where at most {max_bytes} may come")
        content: Buffer = library.snappy.decompress_raw(block)
    except library.DecompressionError as error:
        raise CorruptData(f"snappy data is damaged: {error}") from None
    return content
