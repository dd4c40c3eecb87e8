"""Producer ids, taken from the cluster's tree in blocks of a thousand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from headrace.cluster.producer_ids import ProducerIdBlock, claim_block
from headrace.coordination.tree import TreeError
from headrace.errors import ClientFault, Error

if TYPE_CHECKING:
    from headrace.broker.membership.session import TreeSession


class ProducerIds:
    def __init__(self, session: TreeSession, broker_id: int) -> None:
        self._session = session
        self._broker_id = broker_id
        self._block: ProducerIdBlock | None = None
        self._claiming = asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether there is an id to `take`."""
        return self._block is not None and not self._block.exhausted

    async def refill(self) -> None:
        """Make sure that there is an id to `take`; ClientFault if the tree cannot be asked."""
        async with self._claiming:
            if not self.is_ready:
                try:
                    self._block = await self._session.call(
                        lambda tree: claim_block(tree, self._broker_id)
                    )
                except TreeError as fault:
                    # A block whose fate is unknown is lost, which is cheap.
                    raise ClientFault(
                        Error.COORDINATOR_LOAD_IN_PROGRESS,
                        f"producer ids cannot be fetched now: {fault}",
                    ) from fault

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
