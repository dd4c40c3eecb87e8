from __future__ import annotations

import gzip
import resource
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError, CorruptData
from headrace.records.compression import (
    LEVELS,
    XERIAL_BLOCK_BYTES,
    XERIAL_HEADER,
    Codec,
    codec_named,
    compress,
    decompress,
)
from tests.records.samples import codecs, patient

TEXT = b"".join(b"line %d of a text that repeats itself\n" % i for i in range(4000))
REAL_CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@patient
@given(data=st.binary(max_size=3000), repeat=st.integers(0, 60), codec=codecs)
def test_round_trip(data: bytes, repeat: int, codec: Codec) -> None:
    """What was compressed comes back, also at a limit of exactly its size."""
    content = data * repeat
    for memory in (content, bytearray(content), memoryview(content)):
        assert decompress(codec, compress(codec, memory), len(content)) == content


@pytest.mark.spec("admin:LS-25")
@pytest.mark.parametrize("codec", REAL_CODECS)
def test_codecs_compress(codec: Codec) -> None:
    """gzip, snappy, lz4 and zstd all make a text smaller, from any kind of memory."""
    packed = compress(codec, memoryview(TEXT))
    assert len(packed) < len(TEXT) / 3
    assert decompress(codec, memoryview(packed), len(TEXT)) == TEXT


def test_names() -> None:
    """Settings name codecs as Kafka does; a wrong name is told what is allowed."""
    assert [codec_named(name) for name in ("none", "gzip", "snappy", "lz4", "zstd")] == list(Codec)
    assert codec_named("uncompressed") is Codec.NONE
    with pytest.raises(ConfigError, match=r"'brotli'.*gzip, lz4, none, snappy"):
        codec_named("brotli")


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (codec, level)
        for codec, (allowed, default) in LEVELS.items()
        for level in (allowed[0], default, allowed[-1])
    ],
)
def test_levels(codec: Codec, level: int) -> None:
    """KIP-390: every level of Kafka's ranges works."""
    assert decompress(codec, compress(codec, TEXT[:9000], level), 9000) == TEXT[:9000]


def test_levels_matter() -> None:
    """A higher level gives a smaller payload; gzip's -1 means its default."""
    assert len(compress(Codec.GZIP, TEXT, 9)) < len(compress(Codec.GZIP, TEXT, 1))
    assert compress(Codec.GZIP, TEXT, -1) == compress(Codec.GZIP, TEXT)
    assert len(compress(Codec.ZSTD, TEXT, 19)) < len(compress(Codec.ZSTD, TEXT, -5))
    assert compress(Codec.ZSTD, TEXT, 3) == compress(Codec.ZSTD, TEXT)
    assert len(compress(Codec.LZ4, TEXT, 17)) < len(compress(Codec.LZ4, TEXT))
    assert compress(Codec.LZ4, TEXT, 9) == compress(Codec.LZ4, TEXT)


@pytest.mark.parametrize(
    ("codec", "level"),
    [(Codec.GZIP, 0), (Codec.GZIP, 10), (Codec.LZ4, 0), (Codec.LZ4, 18), (Codec.ZSTD, 23)],
)
def test_levels_out_of_range(codec: Codec, level: int) -> None:
    """A level that Kafka refuses is a ConfigError that names the range."""
    with pytest.raises(ConfigError, match=f"level {level}: allowed are .* to "):
        compress(codec, TEXT, level)


def test_lz4_is_what_java_can_read() -> None:
    """Kafka's Java reader wants version 1 and independent blocks and knows blocks of 64 KiB."""
    packed = compress(Codec.LZ4, TEXT)
    assert packed[:4] == bytes.fromhex("04224d18")
    flags, block = packed[4], packed[5]
    assert flags >> 6 == 1, "version"
    assert flags & 0x20, "independent blocks"
    assert not flags & 0x04, "no content checksum"
    assert not flags & 0x03, "reserved bit and dictionary"
    assert block >> 4 in (4, 5, 6, 7), "block size"


def test_gzip_is_plain_gzip() -> None:
    """Python's own gzip reads ours and we read its, also as several members."""
    assert gzip.decompress(compress(Codec.GZIP, TEXT)) == TEXT
    members = gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:])
    assert decompress(Codec.GZIP, members, len(TEXT)) == TEXT


def test_snappy_is_framed_as_xerial_does() -> None:
    """Java's framing: a header of 16 bytes, then blocks of at most 32 KiB with their sizes."""
    import cramjam

    packed = compress(Codec.SNAPPY, TEXT)
    assert packed[:16] == bytes.fromhex("82534e4150505900 00000001 00000001")
    position, sizes = 16, []
    while position < len(packed):
        size = int.from_bytes(packed[position : position + 4], "big")
        position += 4
        sizes.append(len(cramjam.snappy.decompress_raw(packed[position : position + size])))
        position += size
    assert position == len(packed)
    assert set(sizes[:-1]) == {XERIAL_BLOCK_BYTES}
    assert sum(sizes) == len(TEXT)


def test_snappy_without_framing() -> None:
    """librdkafka writes one raw block; both spellings are read."""
    import cramjam

    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT)), len(TEXT)) == TEXT


def test_snappy_versions_are_not_looked_at() -> None:
    """Some writers have the version numbers in the wrong byte order."""
    packed = bytearray(compress(Codec.SNAPPY, TEXT))
    packed[8:16] = bytes.fromhex("0100000001000000")
    assert decompress(Codec.SNAPPY, packed, len(TEXT)) == TEXT


@pytest.mark.parametrize(
    "data",
    [
        XERIAL_HEADER[:10],
        XERIAL_HEADER + b"\x00\x00",
        XERIAL_HEADER + b"\x00\x00\x00\x09\x00",
        XERIAL_HEADER + b"\xff\xff\xff\xff\x00",
        XERIAL_HEADER + b"\x00\x00\x00\x02\x05\xff",
    ],
)
def test_damaged_framing(data: bytes) -> None:
    """Cut and lying block sizes raise CorruptData."""
    with pytest.raises(CorruptData, match="snappy"):
        decompress(Codec.SNAPPY, data, 1000)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("content", [TEXT, TEXT * 10])
def test_limit(codec: Codec, content: bytes) -> None:
    """One byte more than the limit is refused, and the error names the limit."""
    packed = compress(codec, content)
    assert decompress(codec, packed, len(content)) == content
    with pytest.raises(CorruptData, match=r"limit|at most") as caught:
        decompress(codec, packed, len(content) - 1)
    if codec is not Codec.SNAPPY:
        assert str(len(content) - 1) in str(caught.value)


def _zstd_bomb(blocks: int) -> bytes:
    """A frame of run-length blocks: four bytes each that stand for 128 KiB of zeros."""
    frame = bytearray(bytes.fromhex("28b52ffd 00 58"))
    for index in range(blocks):
        last = index == blocks - 1
        frame += ((128 * 1024) << 3 | 1 << 1 | last).to_bytes(3, "little") + b"\x00"
    return bytes(frame)


def test_bomb_is_not_allocated() -> None:
    """4 GiB behind 128 KiB: refused at the limit, and memory grows by no more than the limit."""
    bomb = _zstd_bomb(32 * 1024)
    assert decompress(Codec.ZSTD, _zstd_bomb(4), 2**20) == bytes(512 * 1024)
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CorruptData, match="limit of 16777216 bytes"):
        decompress(Codec.ZSTD, bomb, 16 * 2**20)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib
    assert grown_kib < 64 * 1024


def test_snappy_bomb_is_refused_by_its_length() -> None:
    """A raw block that claims 4 GiB is refused before anything is allocated."""
    with pytest.raises(CorruptData, match="4294967295"):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(100), 2**20)


@pytest.mark.parametrize("codec", REAL_CODECS)
@pytest.mark.parametrize("data", [b"", b"\x01", b"garbage that is no frame", bytes(100)])
def test_garbage(codec: Codec, data: bytes) -> None:
    """Bytes that are not of the codec raise CorruptData."""
    with pytest.raises(CorruptData):
        decompress(codec, data, 2**20)


@pytest.mark.parametrize("codec", REAL_CODECS)
def test_cut_anywhere(codec: Codec) -> None:
    """Compressed data that was cut raises CorruptData or lacks content, and never more."""
    packed = compress(codec, TEXT[:5000])
    for size in range(0, len(packed), 3):
        try:
            content = decompress(codec, packed[:size], 2**20)
        except CorruptData:
            continue
        # xerial's framing has no end mark: cut between blocks it is simply shorter.
        assert codec is Codec.SNAPPY
        assert len(content) < 5000


def test_the_native_library_is_loaded_on_first_use() -> None:
    """Importing the records package costs neither the codecs nor crc32c's metadata reader."""
    program = (
        "import sys, headrace.records.control, headrace.records.recompress\n"
        "from headrace.records.compression import Codec, compress\n"
        "assert 'cramjam' not in sys.modules and 'importlib.metadata' not in sys.modules\n"
        "compress(Codec.ZSTD, b'x')\n"
        "assert 'cramjam' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-I", "-c", program], check=True, timeout=60)
