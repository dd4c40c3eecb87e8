"""The limits on connections follow the settings that may change while the broker runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from headrace.broker.net.listening import read_limits
from headrace.broker.watching import logs
from headrace.cluster.image import Change, changes_broker_configs
from headrace.errors import ConfigError

if TYPE_CHECKING:
    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.net.connection_gate import ConnectionGate
    from headrace.broker.net.listener import Listener
    from headrace.cluster.broker_config import BrokerConfig


def follow_limits(
    listeners: Sequence[Listener], metadata: Metadata, gate: ConnectionGate, executor: Executor
) -> None:
    """Hold new connections to what the settings say now."""
    for listener in listeners:
        listener.gate = gate

    async def adopt(config: BrokerConfig) -> None:
        try:
            # Names of hosts are looked up, which may take a while.
            loop = asyncio.get_running_loop()
            limits = await loop.run_in_executor(executor, read_limits, config)
        except ConfigError as fault:
            logs.SERVER.error("The limits on connections stay as they are: %s", fault)
            return
        if config is metadata.settings.config:
            for listener in listeners:
                listener.limits.adopt(limits)

    tasks: set[asyncio.Task[None]] = set()

    def on_changes(changes: Sequence[Change]) -> None:
        if changes_broker_configs(changes):
            task = asyncio.get_running_loop().create_task(adopt(metadata.settings.config))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    metadata.watchers.append(on_changes)
