"""Producer ids, taken from the cluster's tree in blocks of a thousand."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor

from headrace.cluster.producer_ids import ProducerIdBlock, claim_block
from headrace.coordination.tree import Tree
from headrace.errors import ClientFault, Error


class ProducerIds:
    def __init__(self, tree: Tree, broker_id: int, executor: Executor) -> None:
        self._tree = tree
        self._broker_id = broker_id
        self._executor = executor
        self._block: ProducerIdBlock | None = None
        self._claiming = asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether there is an id to `take`."""
        return self._block is not None and not self._block.exhausted

    async def refill(self) -> None:
        """Make sure that there is an id to `take`."""
        async with self._claiming:
            if not self.is_ready:
                loop = asyncio.get_running_loop()
                self._block = await loop.run_in_executor(
                    self._executor, claim_block, self._tree, self._broker_id
                )

    async def next_id(self) -> int:
        """An id that no producer of this cluster ever had."""
        while not self.is_ready:
            await self.refill()
        return self.take()

    def take(self) -> int:
        """The same for those who cannot wait; ClientFault if they must come again."""
        if self._block is None or self._block.exhausted:
            raise ClientFault(
                Error.COORDINATOR_LOAD_IN_PROGRESS, "producer ids are being fetched; try again"
            )
        return self._block.take()
