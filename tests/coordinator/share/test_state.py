"""Batches laid over batches give what each offset was last said to be."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.coordinator.share.state import StateBatch, combine

batches = st.builds(
    lambda first, size, state, count: StateBatch(first, first + size, state, count),
    st.integers(0, 30),
    st.integers(0, 10),
    st.sampled_from([0, 2, 4]),
    st.integers(0, 3),
)


@given(st.lists(st.lists(batches, max_size=4), max_size=6), st.integers(0, 20))
def test_the_last_word_counts(writes: list[list[StateBatch]], start: int) -> None:
    """Whatever the order and overlap, and nothing before the start offset is left."""
    known: tuple[StateBatch, ...] = ()
    model: dict[int, tuple[int, int]] = {}
    for write in writes:
        known = combine(known, write, start)
        for batch in write:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                model[offset] = (batch.delivery_state, batch.delivery_count)
    found = {
        offset: (batch.delivery_state, batch.delivery_count)
        for batch in known
        for offset in range(batch.first_offset, batch.last_offset + 1)
    }
    assert found == {offset: fate for offset, fate in model.items() if offset >= start}
    for before, after in pairwise(known):
        assert before.last_offset < after.first_offset
        adjacent = before.last_offset + 1 == after.first_offset
        assert not adjacent or before[2:] != after[2:], "neighbours that are alike are joined"
