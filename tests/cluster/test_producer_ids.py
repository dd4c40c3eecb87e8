"""Producer ids: never twice, whoever asks."""

from __future__ import annotations

import json

import pytest

from headrace.cluster.producer_ids import BLOCK_SIZE, claim_block
from headrace.coordination.memory import MemoryStore, MemoryTree
from headrace.coordination.tree import ANY_VERSION
from headrace.errors import CorruptData, InvariantViolated


def test_blocks_follow_each_other() -> None:
    """Two brokers get neighbouring blocks of a thousand, written down before they are used."""
    store = MemoryStore()
    one, two = store.session(), store.session()
    first, second = claim_block(one, 1), claim_block(two, 2)
    assert (first.next_id, first.end) == (0, 999)
    assert (second.next_id, second.end) == (1000, 1999)
    assert json.loads(one.get("/latest_producer_id_block").data) == {
        "version": 1,
        "broker": 2,
        "block_start": "1000",
        "block_end": "1999",
    }


def test_a_block_gives_each_id_once() -> None:
    """A thousand ids, then it is exhausted; taking more is a bug."""
    block = claim_block(MemoryStore().session(), 1)
    taken = [block.take() for _ in range(BLOCK_SIZE)]
    assert taken == list(range(1000))
    assert block.exhausted
    with pytest.raises(InvariantViolated):
        block.take()


class RacingTree(MemoryTree):
    """A session in which another broker claims a block just before each of our first writes."""

    races = 2

    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        if self.races:
            self.races -= 1
            claim_block(self.rival, 9)
        return super().set(path, data, version)

    def create(
        self, path: str, data: bytes, *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        if self.races:
            self.races -= 1
            claim_block(self.rival, 9)
        return super().create(path, data, ephemeral=ephemeral, sequential=sequential)

    rival: MemoryTree


def test_a_lost_race_is_tried_again() -> None:
    """Compare-and-set: whoever was slower reads again and takes the next block."""
    store = MemoryStore()
    racing = RacingTree(store, session_id=99)
    racing.rival = store.session()
    block = claim_block(racing, 1)
    assert block.next_id == 2000


@pytest.mark.parametrize("data", [b"", b"{}", b'{"block_end":"x"}'])
def test_a_damaged_block_node_is_reported(data: bytes) -> None:
    """Guessing could give an id twice; the node is named instead."""
    tree = MemoryStore().session()
    tree.create("/latest_producer_id_block", data)
    with pytest.raises(CorruptData, match="/latest_producer_id_block"):
        claim_block(tree, 1)


def test_the_last_id_is_not_passed() -> None:
    """Ids are 63-bit numbers; running out stops the broker instead of beginning again."""
    tree = MemoryStore().session()
    tree.create("/latest_producer_id_block", b'{"block_end":"9223372036854775000"}')
    with pytest.raises(InvariantViolated, match="given out"):
        claim_block(tree, 1)
