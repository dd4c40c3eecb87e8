"""Producer ids for idempotent producers, taken from the cluster's tree in blocks of a thousand."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor

from headrace.cluster.producer_ids import ProducerIdBlock, claim_block
from headrace.coordination.tree import Tree


class ProducerIds:
    def __init__(self, tree: Tree, broker_id: int, executor: Executor) -> None:
        self._tree = tree
        self._broker_id = broker_id
        self._executor = executor
        self._block: ProducerIdBlock | None = None
        self._claiming = asyncio.Lock()

    async def next_id(self) -> int:
        """An id that no producer of this cluster ever had."""
        async with self._claiming:
            if self._block is None or self._block.exhausted:
                loop = asyncio.get_running_loop()
                self._block = await loop.run_in_executor(
                    self._executor, claim_block, self._tree, self._broker_id
                )
            return self._block.take()
