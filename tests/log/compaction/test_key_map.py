"""The map of newest records: right for any keys, and never larger than it was allowed to be."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ConfigError
from headrace.log.compaction.key_map import STAYS, SUPERSEDED, TOMBSTONE, KeyMap
from headrace.log.compaction.record_keys import Keys

keys = st.sampled_from([b"a", b"b", b"c", b"long" * 20, b""])
records = st.tuples(st.none() | keys, st.booleans())
batches = st.lists(st.lists(records, max_size=10), max_size=10)


def as_keys(batch: list[tuple[bytes | None, bool]]) -> Keys:
    return Keys(
        [key or b"" for key, _ in batch],
        [i for i, (_, has_value) in enumerate(batch) if not has_value],
        [i for i, (key, _) in enumerate(batch) if key is None],
    )


@pytest.mark.spec("book1:B-18", "book1:F-07")
@given(batches)
def test_only_the_newest_of_a_key_stays(written: list[list[tuple[bytes | None, bool]]]) -> None:
    """The map knows of each key the latest record, and whether that has a value."""
    key_map = KeyMap(1 << 16, 0.9, 200)
    for batch in written:
        assert key_map.has_room_for(len(batch))
        key_map.put(as_keys(batch))
    everything = [record for batch in written for record in batch]
    newest = {key: number for number, (key, _) in enumerate(everything)}
    expected = [
        SUPERSEDED if key is None or newest[key] != number else STAYS if has_value else TOMBSTONE
        for number, (key, has_value) in enumerate(everything)
    ]
    assert list(key_map.fates(0, len(everything))) == expected
    newest.pop(None, None)
    assert key_map.key_count == len(newest)
    asked = [b"a", b"b", b"c", b"long" * 20, b"", b"never"]
    assert key_map.find(asked) == [i for i, key in enumerate(asked) if key in newest]


def test_a_full_map_still_finds_everything() -> None:
    """At the load factor keys meet all the time, and none is taken for another."""
    key_map = KeyMap(1 << 20, 0.9, 1 << 30)
    rng = Random(1)
    known: list[bytes] = []
    while key_map.has_room_for(100):
        some = [rng.randbytes(8) for _ in range(100)]
        key_map.put(Keys(some, [], []))
        known += some
    assert key_map.key_count == len(known) > 20_000
    assert key_map.find(known) == list(range(len(known)))
    assert key_map.find([rng.randbytes(8) for _ in range(10_000)]) == []


@pytest.mark.spec("slides:F22")
@pytest.mark.parametrize("max_bytes", [1 << 15, 1 << 18, 1_000_000])
def test_memory_is_bounded_whatever_comes(max_bytes: int) -> None:
    """`log.cleaner.dedupe.buffer.size` bounds the map, for many keys and for one key often."""
    for keys_are_new in (True, False):
        key_map = KeyMap(max_bytes, 0.9, 1 << 40)
        number = 0
        while key_map.has_room_for(1000) and number < 2_000:
            key = b"%d-" % number if keys_are_new else b"k"
            key_map.put(Keys([b"%s%d" % (key, i) for i in range(1000)], [], []))
            number += 1
        assert key_map.memory_bytes <= max_bytes


def test_a_small_log_gets_a_small_map() -> None:
    """Memory follows what a log can need, not what is allowed."""
    assert KeyMap(128 << 20, 0.9, 1000).memory_bytes < 100_000


def test_a_useless_buffer_size_is_named() -> None:
    """Less memory than the smallest table needs is an error that says what to change."""
    with pytest.raises(ConfigError, match=r"log\.cleaner\.dedupe\.buffer\.size"):
        KeyMap(1000, 0.9, 1000)


def test_aborted_records_supersede_nothing() -> None:
    """Skipped records have numbers and no keys."""
    key_map = KeyMap(1 << 16, 0.9, 100)
    key_map.put(Keys([b"a"], [], []))
    key_map.skip(5)
    key_map.put(Keys([b"b"], [], []))
    assert list(key_map.fates(0, 7)) == [STAYS] * 7
    assert key_map.find([b"a", b"b"]) == [0, 1]
