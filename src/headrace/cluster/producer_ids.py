"""Blocks of a thousand producer ids, claimed from the tree by compare-and-set.

A producer id must never be given out twice in the life of a cluster, so a broker takes a block by
writing its end before using it; ids of a block that a crash cut short are lost, which is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from headrace.cluster import layout
from headrace.coordination.tree import BadVersion, NodeExists, NoNode, Tree
from headrace.errors import CorruptData, InvariantViolated

BLOCK_SIZE: Final = 1000
_LAST_ID: Final = (1 << 63) - 1
_MAX_TRIES: Final = 1000


@dataclass(slots=True)
class ProducerIdBlock:
    """A range of ids that belongs to one broker; `next_id` is the first that is still free."""

    next_id: int
    end: int

    @property
    def exhausted(self) -> bool:
        return self.next_id > self.end

    def take(self) -> int:
        """One id that nobody else has."""
        if self.exhausted:
            raise InvariantViolated("a producer id was taken from an exhausted block")
        producer_id = self.next_id
        self.next_id += 1
        return producer_id


def claim_block(tree: Tree, broker_id: int) -> ProducerIdBlock:
    """Take the next block, trying again when another broker was faster."""
    for _ in range(_MAX_TRIES):
        try:
            node = tree.get(layout.PRODUCER_ID_BLOCK)
        except NoNode:
            start = 0
            try:
                tree.create(layout.PRODUCER_ID_BLOCK, _encode(broker_id, start))
            except NodeExists:
                continue
            return ProducerIdBlock(start, start + BLOCK_SIZE - 1)
        start = _block_end(node.data) + 1
        if start > _LAST_ID - BLOCK_SIZE:
            raise InvariantViolated("all 2^63 producer ids have been given out")
        try:
            tree.set(layout.PRODUCER_ID_BLOCK, _encode(broker_id, start), node.version)
        except BadVersion:
            continue
        return ProducerIdBlock(start, start + BLOCK_SIZE - 1)
    raise InvariantViolated(f"no producer id block could be claimed in {_MAX_TRIES} tries")


def _encode(broker_id: int, start: int) -> bytes:
    return layout.encode(
        {
            "version": 1,
            "broker": broker_id,
            "block_start": str(start),
            "block_end": str(start + BLOCK_SIZE - 1),
        }
    )


def _block_end(data: bytes) -> int:
    value = layout.decode(layout.PRODUCER_ID_BLOCK, data)
    try:
        return int(value["block_end"])
    except (KeyError, ValueError, TypeError) as error:
        raise CorruptData(
            f"node {layout.PRODUCER_ID_BLOCK} does not name a block: {error!r}"
        ) from None
