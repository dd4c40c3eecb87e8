"""Offsets of sources: the topic of distributed workers, and the file of a standalone one."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.pipelines.connect.faults import ConnectException, DataException
from headrace.pipelines.connect.state import json_text, offsets_file
from headrace.pipelines.connect.state.offset_log import OffsetLog
from tests.pipelines.connect.real import TIMEOUT_SECONDS, Real, cases
from tests.pipelines.connect.state.test_config_log import recorded

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

texts = st.text(st.characters(codec="utf-8"), max_size=8)
numbers = st.integers(-(2**63), 2**63 - 1)
# The shortest form of other doubles depends on the JDK: it changed with version 19.
doubles = st.integers(-(10**6), 10**6).flatmap(
    lambda digits: st.integers(-12, 12).map(lambda power: float(f"{digits}e{power}"))
)
values = st.recursive(
    st.none() | st.booleans() | numbers | doubles | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
entries = st.dictionaries(st.binary(max_size=20), st.none() | st.binary(max_size=20), max_size=30)

LIMITS = settings(
    max_examples=cases(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@LIMITS
@given(value=values.filter(lambda value: value is not None))
def test_json_is_connects(real: Real, value: object) -> None:
    """Equal values have equal bytes, whoever writes them, and are read back."""
    ours = json_text.encode(value)
    assert real.ask({"json": value}) == base64.b64encode(ours).decode()
    assert json_text.decode(ours) == value


def test_what_json_cannot_say() -> None:
    """It is rejected by its type; doubles without a number are strings."""
    with pytest.raises(DataException, match="bytes"):
        json_text.encode({"a": b"x"})
    with pytest.raises(DataException, match="not JSON"):
        json_text.decode(b"{")
    assert json_text.encode([float("nan"), float("inf"), -float("inf")]) == (
        b'["NaN","Infinity","-Infinity"]'
    )


@LIMITS
@given(kept=entries)
def test_the_file_is_connects(real: Real, tmp_path: Path, kept: dict[bytes, bytes | None]) -> None:
    """Connect reads what we write, and we read what Connect writes."""
    path = tmp_path / "offsets"
    pairs = [[coded(key), coded(value)] for key, value in kept.items()]
    path.write_bytes(offsets_file.encode(kept))
    read = real.ask({"read": str(path)})
    assert isinstance(read, list)
    assert sorted(read) == sorted(pairs)
    path.unlink()
    real.ask({"write": str(path), "entries": pairs})
    assert offsets_file.decode(path.read_bytes()) == kept
    assert len(offsets_file.encode(kept)) == path.stat().st_size


def coded(part: bytes | None) -> str | None:
    """Bytes as the program takes them."""
    return None if part is None else base64.b64encode(part).decode()


def test_a_file_with_references() -> None:
    """An array that is both key and value is written once by Java, and referred to."""
    one = offsets_file.encode({b"same": b"same"})
    referred = one.replace(b"uq\x00\x7e\x00\x02\x00\x00\x00\x04same", b"q\x00\x7e\x00\x03")
    assert len(referred) < len(one)
    assert offsets_file.decode(referred) == {b"same": b"same"}
    with pytest.raises(ConnectException, match="refers"):
        offsets_file.decode(referred.replace(b"q\x00\x7e\x00\x03", b"q\x00\x7e\x00\x04"))


def test_a_damaged_file() -> None:
    """Any file that is cut, or holds something else, is rejected with the remedy."""
    whole = offsets_file.encode({b"key": b"value", b"other": None})
    assert offsets_file.decode(b"") == {}
    for length in range(1, len(whole)):
        with pytest.raises(ConnectException, match=r"offset\.storage\.file\.filename"):
            offsets_file.decode(whole[:length])
    with pytest.raises(ConnectException, match="more follows"):
        offsets_file.decode(whole + b"x")


def test_the_topic_of_a_real_worker() -> None:
    """What a recorded worker committed, altered and reset; ours writes the same keys."""
    log = OffsetLog()
    topic = recorded("offset")
    altered = 1 + next(
        place for place, (_, value) in enumerate(topic) if value == b'{"position":3}'
    )
    reset = 1 + max(place for place, (_, value) in enumerate(topic) if value is None)
    for key, value in topic[:altered]:
        log.replay(key, value)
    assert log.offset("s", {"number": 0}) == {"position": 3}
    places = [b'["s",{"number":0}]', b'["s",{"number":1}]']
    assert sorted(key for key, _ in log.resets("s")) == places
    for key, value in topic[altered:reset]:
        log.replay(key, value)
    assert log.offsets("s") == []
    assert log.resets("s") == []
    for key, value in topic[reset:]:
        log.replay(key, value)
    every = sorted(log.offsets("s"), key=lambda pair: str(pair[0]))
    assert every == [({"number": 0}, {"position": 7}), ({"number": 1}, {"position": 7})]
    again = log.writes("s", [({"number": 1}, {"position": 7})])
    assert again[0] in topic


def test_a_partition_keeps_the_key_that_it_was_read_with() -> None:
    """A map with its fields in another order is the same partition."""
    log = OffsetLog()
    log.replay(b'["s",{"b":1,"a":2}]', b'{"at":5}')
    assert log.offset("s", {"a": 2, "b": 1}) == {"at": 5}
    assert log.writes("s", [({"a": 2, "b": 1}, {"at": 6}), ({"c": 1}, None)]) == [
        (b'["s",{"b":1,"a":2}]', b'{"at":6}'),
        (b'["s",{"c":1}]', None),
    ]


@pytest.mark.parametrize("key", [None, b"", b"{}", b"[1,{}]", b'["a"]', b'["a",1]', b"\xff"])
def test_a_key_that_is_no_partition(key: bytes | None) -> None:
    """It is passed over."""
    log = OffsetLog()
    log.replay(key, b'{"at":1}')
    assert log.offsets("a") == []


@pytest.mark.parametrize(
    "key",
    [b'["s",{"file":"\\ud800"}]', b'["s",{"file":' + b"[" * 600 + b"]" * 600 + b"}]"],
)
def test_a_place_that_nobody_can_write_is_passed_over(key: bytes) -> None:
    """Half of a character, and lists that are too deep: the topic is followed all the same."""
    log = OffsetLog()
    log.replay(key, b'{"position":1}')
    log.replay(b'["s",{"file":"x"}]', b'{"position":2}')
    assert log.offsets("s") == [({"file": "x"}, {"position": 2})]
