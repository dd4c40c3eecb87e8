"""What share groups ask of the share coordinators, and how they are told the outcome (KIP-932).

A group's shard wants states of share partitions to begin or to end; it says so in its effects, and
they come here once they are committed. The answer goes back into the same shard. If that is gone
meanwhile, its successor finds in its log what was asked for, and asks again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.broker.sharing.states import ShareStart
from headrace.broker.watching import logs
from headrace.coordinator.group.effects import ShareStatesBegin, ShareStatesChange
from headrace.coordinator.host import HostState
from headrace.errors import ClientFault, Error
from headrace.types import SharePartitionKey

if TYPE_CHECKING:
    from headrace.broker.groups.groups import GroupHost, Groups
    from headrace.broker.sharing.states import ShareStates
    from headrace.coordinator.group.shard import GroupShard


class ShareGroupStates:
    """The questions that are under way."""

    def __init__(self, states: ShareStates) -> None:
        self._states = states
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def change(self, groups: Groups, host: GroupHost, change: ShareStatesChange) -> None:
        """Carry out what a shard asks for, and tell it."""
        task = self._loop.create_task(self._carry_out(groups, host, host.shard, change))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(
        self,
        groups: Groups,
        host: GroupHost,
        shard: GroupShard,
        change: ShareStatesChange,
    ) -> None:
        if self._is_in_charge(host, shard):
            outcomes = await self._ask(change)
            if self._is_in_charge(host, shard):
                now_ms = groups.now_ms()
                effects = shard.share.on_states_changed(change, outcomes, now_ms)
                groups.perform(host, effects, now_ms)
                return
        change.refuse(Error.NOT_COORDINATOR)

    async def _ask(self, change: ShareStatesChange) -> Mapping[SharePartitionKey, Error]:
        group_id = change.group_id
        try:
            if isinstance(change, ShareStatesBegin):
                starts = {
                    partition: ShareStart(change.state_epoch, offset)
                    for partition, offset in change.start_offsets.items()
                }
                outcomes = await self._states.initialize(starts)
            else:
                outcomes = await self._states.delete(sorted(change.partitions))
        except ClientFault as fault:
            asked = (
                change.start_offsets if isinstance(change, ShareStatesBegin) else change.partitions
            )
            outcomes = dict.fromkeys(asked, fault.error)
        failed = {error.name for error in outcomes.values() if error is not Error.NONE}
        if failed:
            logs.COORDINATOR.warning(
                "The states of some share partitions of group %s could not be changed: %s",
                group_id,
                ", ".join(sorted(failed)),
            )
        return outcomes

    def _is_in_charge(self, host: GroupHost, shard: GroupShard) -> bool:
        return host.state is HostState.ACTIVE and host.shard is shard
