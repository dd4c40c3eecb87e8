"""Objects cut out of a stream that is chopped anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.rest.v3.concatenated import MAX_DEPTH, MalformedStream, ObjectSplitter

OBJECTS = [
    b"{}",
    b'{"a":"}{"}',
    rb'{"a":"\"}\\"}',
    b'{"a":[{"b":"[["},{}]}',
    '{"ü":"\u20ac"}'.encode(),
]


def split(chunks: list[bytes], max_bytes: int = 1000) -> list[bytes | None]:
    splitter = ObjectSplitter(max_bytes)
    found = [each for chunk in chunks for each in splitter.feed(chunk)]
    splitter.finish()
    return found


@given(st.lists(st.sampled_from(OBJECTS)), st.sampled_from([b"", b"\n", b" \r\n\t "]), st.data())
def test_any_chunks(objects: list[bytes], between: bytes, data: st.DataObject) -> None:
    """Wherever the chunks end, the same objects come out, each with its last byte."""
    stream = between.join([b"", *objects, b""])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    chunks = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert split(chunks) == objects


def test_an_object_comes_with_its_last_byte() -> None:
    """An object is there as soon as it ends, not when the next one begins."""
    splitter = ObjectSplitter(100)
    assert list(splitter.feed(b'{"a":')) == []
    assert list(splitter.feed(b"1}")) == [b'{"a":1}']


def test_too_large_is_skipped() -> None:
    """An object above the limit is told as None and the next one is found."""
    large = b'{"a":"' + b"}" * 100 + b'"}'
    assert split([b"{}", large[:50], large[50:], b'{"b":1}'], 50) == [b"{}", None, b'{"b":1}']


@pytest.mark.parametrize("stream", [b"x", b"[{}]", b"{}1", b'{"a":1},{"b":2}', b"\x00", b"}"])
def test_not_objects(stream: bytes) -> None:
    """What is no object between objects ends the stream."""
    with pytest.raises(MalformedStream, match="unexpected"):
        split([stream])


def test_the_end_is_missing() -> None:
    """A stream that ends inside an object is malformed."""
    with pytest.raises(MalformedStream, match="inside an object"):
        split([b'{"a":'])


def test_deep_nesting() -> None:
    """Nesting is bounded, however much of it there is."""
    assert split([b'{"a":' * MAX_DEPTH + b"1" + b"}" * MAX_DEPTH], 10_000)
    with pytest.raises(MalformedStream, match="nested"):
        split([b'{"a":' * (MAX_DEPTH + 1)])
