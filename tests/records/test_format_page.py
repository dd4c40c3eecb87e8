"""docs/formats/record-batch.md is checked against the code that it describes."""

from __future__ import annotations

import re
from pathlib import Path

from headrace.records.batch import HEADER, BatchHeader, damage, read_header
from headrace.records.builder import BatchBuilder
from tests.records.samples import NOW_MS, opened, read_all

PAGE = Path(__file__).parents[2].joinpath("docs/formats/record-batch.md").read_text()

SIZES = {"int64": 8, "int32": 4, "uint32": 4, "int16": 2, "int8": 1}


def worked_example() -> list[tuple[int, bytes, str]]:
    """The lines of the example: offset, bytes, what they are."""
    (block,) = re.findall(r"```hex\n(.*?)```", PAGE, re.DOTALL)
    lines = re.findall(r"^ *(\d+)  ((?:[0-9a-f]{2} )+) *(.*)$", block, re.MULTILINE)
    assert len(lines) == len(block.splitlines())
    return [(int(offset), bytes.fromhex(raw), text) for offset, raw, text in lines]


def test_table_is_the_struct() -> None:
    """The page's table has the fields, offsets and sizes that the code unpacks."""
    rows = re.findall(r"^\| (\d+) \| (\d) \| (u?int\d+) \| (\w+) \|", PAGE, re.MULTILINE)
    assert tuple(name for *_, name in rows) == BatchHeader._fields
    position = 0
    for offset, size, kind, _ in rows:
        assert (int(offset), int(size)) == (position, SIZES[kind])
        position += SIZES[kind]
    assert position == HEADER.size
    letters = {"int64": "q", "int32": "i", "uint32": "I", "int16": "h", "int8": "b"}
    assert HEADER.format == ">" + "".join(letters[kind] for _, _, kind, _ in rows)


def test_example_is_what_we_build() -> None:
    """The bytes of the worked example are those of our builder, each at the offset it claims."""
    builder = BatchBuilder(
        producer_id=4000, producer_epoch=1, base_sequence=7, base_offset=5, leader_epoch=3
    )
    builder.append(b"k1", b"hello", NOW_MS, [("h", b"\x01")])
    builder.append(None, None, NOW_MS + 250)
    position = 0
    for offset, raw, _ in worked_example():
        assert offset == position
        position += len(raw)
    assert b"".join(raw for _, raw, _ in worked_example()) == builder.build()


def test_example_says_what_is_read() -> None:
    """The values beside the bytes are those that the reader finds."""
    batch = b"".join(raw for _, raw, _ in worked_example())
    header, view = opened(batch)
    assert damage(view, header) is None
    claimed = dict(re.findall(r"(\w+) = (\d+)", "\n".join(text for *_, text in worked_example())))
    assert {name: int(value) for name, value in claimed.items()} == read_header(batch)._asdict()
    first, second = read_all(batch)
    assert (first.key, first.value, first.headers) == (b"k1", b"hello", [("h", b"\x01")])
    assert (second.key, second.value, second.timestamp) == (None, None, NOW_MS + 250)
