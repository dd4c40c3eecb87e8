"""A share group on its partition, and the share coordinator that keeps the state of its partitions.

Both are the real ones. What the group asks of the share coordinator waits in `asked` until the test
carries it out, in whichever order, with whichever outcome, or never.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from headrace.coordinator.effects import Caller, Effects
from headrace.coordinator.group.effects import ShareStatesBegin, ShareStatesChange
from headrace.coordinator.group.settings import GroupSettings, Overrides
from headrace.coordinator.group.share import ShareGroup
from headrace.coordinator.share.shard import ShareSettings, ShareShard
from headrace.errors import Error
from headrace.types import SharePartitionKey
from headrace.wire.messages.delete_share_group_state import PartitionData as DeletedState
from headrace.wire.messages.initialize_share_group_state import PartitionData as NewState
from headrace.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)
from tests.coordinator.known_topics import KnownTopics
from tests.coordinator.offsets_partition import LATEST, OffsetsPartition
from tests.coordinator.tickets import Ticket, opened

SHARE: Final = "share."  # how the handlers of share groups are named here


class ShareStage(OffsetsPartition):
    """What brokers do for one share group, `g`."""

    def __init__(
        self,
        topics: KnownTopics | None = None,
        settings: GroupSettings | None = None,
        overrides: Overrides = lambda _: {},
    ) -> None:
        self.asked: list[ShareStatesChange] = []
        super().__init__(topics or KnownTopics(orders=2, logs=1), settings, overrides)
        self.states = ShareShard(ShareSettings(), self.topics)
        self.epochs: dict[str, int] = {}
        self.assigned: dict[str, dict[str, list[int]]] = {}

    @property
    def group(self) -> ShareGroup:
        return cast(ShareGroup, self.shard.groups["g"])

    def perform(self, effects: Effects[Any, Any]) -> None:
        super().perform(effects)
        self.asked += effects.sends

    def begin(self, handler: str, request: Any, version: int = LATEST, **options: Any) -> int:
        if not handler.startswith(SHARE):
            return super().begin(handler, request, version, **options)
        self._tickets += 1
        caller: Caller[Any] = Caller(Ticket(self._tickets), "client", "/127.0.0.1", version)
        handle = getattr(self.shard.share, f"handle_{handler.removeprefix(SHARE)}")
        self.perform(handle(request, caller, self.now_ms))
        return self._tickets

    # -- members ----------------------------------------------------------------------------------

    def heartbeat(
        self, member: str, *topics: str, epoch: int | None = None, rack: str | None = None
    ) -> ShareGroupHeartbeatResponse:
        """A sign of life of a member, in its epoch if no other is given."""
        request = ShareGroupHeartbeatRequest(
            group_id="g",
            member_id=member,
            member_epoch=self.epochs.get(member, 0) if epoch is None else epoch,
            rack_id=rack,
            subscribed_topic_names=list(topics) or None,
        )
        answer: ShareGroupHeartbeatResponse = self.ask("share.heartbeat", request)
        if not answer.error_code:
            self.epochs[member] = max(answer.member_epoch, 0)
            if answer.assignment is not None:
                self.assigned[member] = {
                    self.topics.topic_name(each.topic_id) or "gone": each.partitions
                    for each in answer.assignment.topic_partitions
                }
        return answer

    def join(self, member: str, *topics: str) -> ShareGroupHeartbeatResponse:
        return self.heartbeat(member, *topics, epoch=0)

    def leave(self, member: str) -> ShareGroupHeartbeatResponse:
        answer = self.heartbeat(member, epoch=-1)
        self.assigned.pop(member, None)
        self.epochs.pop(member, None)
        return answer

    def join_ready(self, member: str, *topics: str) -> None:
        """Join, and come back when the partitions are initialized."""
        self.join(member, *topics)
        self.carry_out_all()
        self.pass_time(1_000)
        self.heartbeat(member)

    # -- the share coordinator --------------------------------------------------------------------

    def carry_out_all(self) -> None:
        while self.asked:
            self.carry_out(self.asked[0])

    def carry_out(self, change: ShareStatesChange, failing: Error = Error.NONE) -> None:
        """Let the share coordinator do it, or fail, and tell the group."""
        self.asked.remove(change)
        self.tell(
            change,
            self.execute(change)
            if failing is Error.NONE
            else dict.fromkeys(partitions_of(change), failing),
        )

    def tell(self, change: ShareStatesChange, outcomes: Mapping[SharePartitionKey, Error]) -> None:
        self.perform(self.shard.share.on_states_changed(change, outcomes, self.now_ms))

    def execute(self, change: ShareStatesChange) -> dict[SharePartitionKey, Error]:
        """What the share coordinator does, whether or not the group hears of it."""
        outcomes = {}
        for key in partitions_of(change):
            caller: Caller[Any] = Caller(Ticket(0), "", "", 0)
            if isinstance(change, ShareStatesBegin):
                asked = NewState(
                    partition=key.partition,
                    state_epoch=change.state_epoch,
                    start_offset=change.start_offsets[key],
                )
                effects = self.states.handle_initialize(key, asked, caller, self.now_ms)
            else:
                deleted = DeletedState(partition=key.partition)
                effects = self.states.handle_delete(key, deleted, caller, self.now_ms)
            for record in effects.records:
                self.states.replay(record, offset=0, transaction=None)
            _, response = opened(effects.replies[0])
            outcomes[key] = Error(response.error_code)
        return outcomes

    def started(self) -> dict[str, tuple[int, int]]:
        """(state epoch, start offset) of every state of the group, by `topic-partition`."""
        return {
            f"{self.topics.topic_name(key.topic_id)}-{key.partition}": (
                state.state_epoch,
                state.start_offset,
            )
            for key, state in self.states.states.items()
        }


def partitions_of(change: ShareStatesChange) -> list[SharePartitionKey]:
    if isinstance(change, ShareStatesBegin):
        return sorted(change.start_offsets)
    return sorted(change.partitions)
