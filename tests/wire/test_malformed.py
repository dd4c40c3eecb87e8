"""No bytes, however mangled, make a decoder do anything but return or refuse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.types import ZERO_UUID
from headrace.wire import MalformedMessage, decode, decoder, encode_bytes
from headrace.wire.decoding import min_size
from headrace.wire.registry import Api, all_apis
from headrace.wire.schema import fields_of, info
from headrace.wire.types import UUID_KIND, Fixed
from tests.conformance.message_strategies import messages
from tests.generated import examples
from tests.wire.samples import EverythingRequest, SmallResponse

many_examples = settings(
    max_examples=examples(10),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def decode_or_refuse(cls: type, version: int, data: bytes) -> None:
    try:
        decode(cls, version, data)
    except MalformedMessage:
        return  # anything else fails the test


def mutate(data: bytes, changes: list[tuple[int, int]], size: int) -> bytes:
    mangled = bytearray(data)
    for position, value in changes:
        if mangled:
            mangled[position % len(mangled)] = value
    return bytes(mangled[: size % (len(mangled) + 1)] if size else mangled)


@pytest.mark.parametrize("api", all_apis(), ids=lambda api: api.name)
def test_mutations_and_truncations(api: Api) -> None:
    """Changed or missing bytes raise MalformedMessage or nothing, in every version of every API."""

    @many_examples
    @given(
        cls=st.sampled_from([api.request, api.response]),
        version=st.sampled_from(api.versions),
        changes=st.lists(
            st.tuples(st.integers(0, 400), st.sampled_from([0, 1, 2, 127, 128, 254, 255])),
            max_size=3,
        ),
        size=st.integers(0, 400),
        data=st.data(),
    )
    def check(
        cls: type,
        version: int,
        changes: list[tuple[int, int]],
        size: int,
        data: st.DataObject,
    ) -> None:
        good = encode_bytes(data.draw(messages(cls, version)), version)
        decode_or_refuse(cls, version, mutate(good, changes, size))

    check()


@pytest.mark.parametrize("version", range(4))
def test_every_prefix_is_refused(version: int) -> None:
    """A message that is cut anywhere is malformed; nothing is read as if it were whole."""

    @settings(max_examples=examples(5), deadline=None, database=None)
    @given(messages(EverythingRequest, version))
    def check(message: EverythingRequest) -> None:
        data = encode_bytes(message, version)
        for size in range(0, len(data), 1 + len(data) // 500):
            with pytest.raises(MalformedMessage):
                decode(EverythingRequest, version, data[:size])

    check()


def test_the_end_is_checked_without_a_frame() -> None:
    """A value that reaches behind the buffer is refused even when it is the last one."""
    data = encode_bytes(SmallResponse(records=memoryview(b"abcd")), 1)[:-1]
    with pytest.raises(MalformedMessage, match="ends too early"):
        decoder(SmallResponse, 1)(data, 0, memoryview(data))


def smallest(cls: type, version: int) -> Any:
    """A message of nothing but zeroes, empty strings and empty lists."""
    values: dict[str, Any] = {}
    for field in fields_of(cls):
        if field.is_array:
            values[field.name] = []
        elif isinstance(field.kind, type):
            optional = field.nullable(version) or field.tag is not None
            values[field.name] = None if optional else smallest(field.kind, version)
        elif field.tag is not None or not field.present(version):
            values[field.name] = field.default
        elif field.kind is UUID_KIND:
            values[field.name] = ZERO_UUID
        else:
            values[field.name] = 0 if isinstance(field.kind, Fixed) else _EMPTY[field.kind.name]
    return cls(**values)


_EMPTY = {"string": "", "bytes": b"", "records": memoryview(b"")}


@pytest.mark.parametrize("api", [*all_apis(), None], ids=lambda api: api.name if api else "all")
def test_counts_are_measured_by_the_smallest_item(api: Api | None) -> None:
    """What is believed to be the least size of an item is the size of the smallest one."""
    for cls in (api.request, api.response) if api else (EverythingRequest, SmallResponse):
        for version in info(cls).versions:
            least = min_size(cls, version, version >= info(cls).flexible)
            assert len(encode_bytes(smallest(cls, version), version)) == least


@pytest.mark.parametrize("version", range(4))
def test_noise(version: int) -> None:
    """Random bytes are refused; the position that is returned never lies behind the buffer."""

    @settings(max_examples=examples(50), deadline=None, database=None)
    @given(st.binary(max_size=200))
    def check(data: bytes) -> None:
        try:
            _, end = decoder(EverythingRequest, version)(data, 0, memoryview(data))
        except MalformedMessage:
            return
        assert end <= len(data)

    check()
