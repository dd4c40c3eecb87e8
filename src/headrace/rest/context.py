"""What every route shares: the producer, the registry, consumers and peers.

Handlers get it as `call.proxy`. It is made without touching the network; clients open with their
first use. What a request may contain is the handlers' business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.client.registry import RegistryClient, SchemaChoice, Serdes, Writer
from headrace.rest.consumers.manager import Consumers
from headrace.rest.librdkafka import producer_properties
from headrace.rest.peers import Peers
from headrace.rest.producing import Outcome, OutRecord, SharedProducer
from headrace.rest.registry_faults import translated

if TYPE_CHECKING:
    from headrace.http.listeners import Listener
    from headrace.rest.settings import RestSettings


class Proxy:
    """One instance of the REST Proxy."""

    def __init__(self, settings: RestSettings) -> None:
        self.settings = settings
        self.producer = SharedProducer(producer_properties(settings.kafka, settings.producer))
        self.registry = RegistryClient(settings.registry)
        self.serdes = Serdes(self.registry)
        self.consumers = Consumers(settings, self.serdes)
        self.peers = Peers(settings)

    def start(self, bound: Listener) -> None:
        """Tell the other instances where this one listens, and begin to reap consumers."""
        self.consumers.start()
        self.peers.start(bound)

    async def produce(self, topic: str, records: Sequence[OutRecord]) -> list[Outcome]:
        """Send records in their order; an outcome for each."""
        return await self.producer.send(topic, records)

    async def writer(self, topic: str, is_key: bool, choice: SchemaChoice) -> Writer:
        """What encodes by the schema that a request names; failures come as `RestError`."""
        known = self.serdes.known(topic, is_key, choice)
        if known is not None:
            return known
        with translated():
            return await asyncio.get_running_loop().run_in_executor(
                None, self.serdes.writer, topic, is_key, choice
            )

    async def close(self) -> None:
        """Finish what is under way and leave groups, so that others need not wait."""
        await self.peers.close()
        await self.consumers.close()
        await self.producer.close()
        self.registry.close()
