"""Data: what has versions, but travels inside of something else and has no API key."""

from __future__ import annotations

import pytest

from headrace.wire import MalformedMessage, UnencodableMessage, decode, encode_bytes
from headrace.wire.primitives import MAX_REQUEST_ITEMS
from headrace.wire.schema import data, struct, tagged, v
from headrace.wire.types import Int8, Int32


@struct
class Extra:
    number: Int32


@data(versions="0-2", flexible=1)
class Sample:
    items: list[Int8]
    note: str = v(1, default="")
    hint: str = v(1, default="", ignorable=True)
    extra: Extra | None = tagged(0, since=1, default=None, nullable=True)
    numbers: list[Int8] | None = tagged(1, since=1, default=[])


@pytest.mark.parametrize(
    ("sample", "encoded"),
    [
        (Sample(items=[7]), "02 07 01 01  01  00 01 00"),
        (Sample(items=[], extra=Extra(number=5)), "01 01 01  01  00 06 01 00000005 00"),
        (Sample(items=[], numbers=None), "01 01 01  02  00 01 00  01 01 00"),
        (Sample(items=[], numbers=[3]), "01 01 01  02  00 01 00  01 02 02 03"),
    ],
)
def test_tagged_fields_that_may_be_null(sample: Sample, encoded: str) -> None:
    """A nullable tagged struct is never left out: a zero byte is null, a one leads the struct."""
    assert encode_bytes(sample, 2) == bytes.fromhex(encoded)
    assert decode(Sample, 2, bytes.fromhex(encoded)) == sample


def test_a_missing_struct_is_none() -> None:
    """Whoever left it out did not know it."""
    assert decode(Sample, 1, bytes.fromhex("01 01 01 00")) == Sample(items=[])


def test_nothing_is_lost_in_silence() -> None:
    """Like a request, data is not written in a version that cannot say what it says."""
    assert encode_bytes(Sample(items=[7], hint="lost"), 0) == bytes.fromhex("00000001 07")
    with pytest.raises(UnencodableMessage, match="has no field note"):
        encode_bytes(Sample(items=[], note="kept"), 0)


def test_there_is_a_limit_to_what_is_read() -> None:
    """Data comes from clients and disks, so the items of a message are counted."""
    count = MAX_REQUEST_ITEMS + 1
    with pytest.raises(MalformedMessage, match="it holds more than 100000 items"):
        decode(Sample, 0, count.to_bytes(4, "big") + bytes(count))
