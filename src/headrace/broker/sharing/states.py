"""The durable state of share partitions, wherever its coordinator is.

The state of (group, topic, partition) is kept by the share coordinator that leads its partition of
`__share_group_state`: here, or on another broker, which is asked over the wire. Whoever asks does
not see the difference. The topic is made on first use; a coordinator that moves or loads is asked
again for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from headrace.broker.net.peers import PeerUnreachable, error_named
from headrace.broker.sharing.operations import (
    DELETE,
    INITIALIZE,
    READ,
    SUMMARY,
    WRITE,
    A,
    Operation,
    R,
    Response,
    StateResponse,
    coordinator_key,
)
from headrace.broker.watching import logs
from headrace.errors import ClientFault, Error
from headrace.replica.sharing.states import SavedBatch, StateWrite
from headrace.types import SharePartitionKey
from headrace.wire.messages import delete_share_group_state as delete_api
from headrace.wire.messages import initialize_share_group_state as initialize_api
from headrace.wire.messages import read_share_group_state as read_api
from headrace.wire.messages import read_share_group_state_summary as summary_api
from headrace.wire.messages import write_share_group_state as write_api

if TYPE_CHECKING:
    from headrace.broker.net.peers import Peers
    from headrace.broker.sharing.coordinators import Shares

CHANNEL: Final = "share-state"
_TIMEOUT_MS: Final = 10_000
_TRIES: Final = 6
_FIRST_PAUSE_S: Final = 0.1  # doubles with every try: about three seconds in all
_ASKED_AGAIN: Final = (
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.NOT_COORDINATOR,
    Error.NETWORK_EXCEPTION,
)


class ShareStart(NamedTuple):
    """Where a share partition begins. An offset of -1 leaves it to share.auto.offset.reset."""

    state_epoch: int
    start_offset: int


class ShareSummary(NamedTuple):
    """A share partition in short. An offset of -1: nothing was consumed yet."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


class KeptShare(NamedTuple):
    """A share partition as a new leader finds it."""

    state_epoch: int
    start_offset: int
    batches: list[SavedBatch]


class ShareStates:
    """All share coordinators of the cluster as one; those of this broker are `coordinators`."""

    def __init__(self, broker_id: int, coordinators: Shares, peers: Peers | None) -> None:
        self.coordinators = coordinators
        self._broker_id = broker_id
        self._peers = peers
        # What metrics show.
        self.writes = 0
        self.failed_writes = 0

    # -- the group coordinator's side -------------------------------------------------------------

    async def initialize(
        self, starts: Mapping[SharePartitionKey, ShareStart]
    ) -> dict[SharePartitionKey, Error]:
        """Begin the states of these partitions anew; FENCED_STATE_EPOCH where a newer one is."""
        parts = {
            key: initialize_api.PartitionData(
                partition=key.partition,
                state_epoch=start.state_epoch,
                start_offset=start.start_offset,
            )
            for key, start in starts.items()
        }
        return _errors(await self._ask(INITIALIZE, parts))

    async def delete(
        self, partitions: Collection[SharePartitionKey]
    ) -> dict[SharePartitionKey, Error]:
        """Forget these states; one that does not exist is as good as forgotten."""
        parts = {key: delete_api.PartitionData(partition=key.partition) for key in partitions}
        return _errors(await self._ask(DELETE, parts))

    async def summaries(
        self, partitions: Collection[SharePartitionKey]
    ) -> dict[SharePartitionKey, ShareSummary | Error]:
        """Epochs and start offsets of these states."""
        parts = {
            key: summary_api.PartitionData(partition=key.partition, leader_epoch=-1)
            for key in partitions
        }
        results = await self._ask(SUMMARY, parts)
        return {
            key: error_named(result.error_code)
            if result.error_code
            else ShareSummary(
                result.state_epoch,
                result.leader_epoch,
                result.start_offset,
                result.delivery_complete_count,
            )
            for key, result in results.items()
        }

    # -- the leader's side ------------------------------------------------------------------------

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> KeptShare | Error:
        """The state for the leader of this epoch; earlier ones are fenced."""
        asked = read_api.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        result = (await self._ask(READ, {key: asked}))[key]
        if result.error_code:
            return error_named(result.error_code)
        batches = [
            SavedBatch(
                each.first_offset, each.last_offset, each.delivery_state, each.delivery_count
            )
            for each in result.state_batches
        ]
        return KeptShare(result.state_epoch, result.start_offset, batches)

    async def write(
        self, key: SharePartitionKey, leader_epoch: int, state_epoch: int, write: StateWrite
    ) -> Error:
        """Keep what has changed."""
        asked = write_api.PartitionData(
            partition=key.partition,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=write.start_offset,
            delivery_complete_count=write.delivery_complete_count,
            state_batches=[
                write_api.StateBatch(
                    first_offset=each.first_offset,
                    last_offset=each.last_offset,
                    delivery_state=each.state,
                    delivery_count=each.delivery_count,
                )
                for each in write.batches
            ],
        )
        error = error_named((await self._ask(WRITE, {key: asked}))[key].error_code)
        self.writes += 1
        self.failed_writes += bool(error)
        return error

    # -- asking -----------------------------------------------------------------------------------

    async def _ask(
        self, operation: Operation[A, R, Response], parts: Mapping[SharePartitionKey, A]
    ) -> dict[SharePartitionKey, R]:
        results: dict[SharePartitionKey, R] = {}
        left = dict(parts)
        pause_s = _FIRST_PAUSE_S
        for attempt in range(_TRIES):
            if attempt:
                await asyncio.sleep(pause_s)
                pause_s *= 2
            answers = await self._ask_once(operation, left)
            results |= answers
            left = {key: left[key] for key in left if answers[key].error_code in _ASKED_AGAIN}
            if not left:
                break
        return results

    async def _ask_once(
        self, operation: Operation[A, R, Response], parts: Mapping[SharePartitionKey, A]
    ) -> dict[SharePartitionKey, R]:
        if not self.coordinators.partition_count:
            try:
                await self.coordinators.create_topic()
            except ClientFault as fault:
                logs.COORDINATOR.warning("__share_group_state cannot be made: %s", fault)
        answers: dict[SharePartitionKey, R] = {}
        elsewhere: dict[int, dict[SharePartitionKey, A]] = {}
        here: dict[SharePartitionKey, asyncio.Future[R]] = {}
        for key, asked in parts.items():
            try:
                leader = self.coordinators.leader_of(coordinator_key(key))
            except ClientFault as fault:
                answers[key] = operation.refused(key.partition, fault.error)
                continue
            if leader == self._broker_id:
                here[key] = self.coordinators.consult(
                    coordinator_key(key),
                    operation.about(key, asked),
                    partial(operation.refused, key.partition),
                )
            else:
                elsewhere.setdefault(leader, {})[key] = asked
        for key, future in here.items():
            answers[key] = await future
        if elsewhere:
            for told in await asyncio.gather(
                *(self._ask_peer(leader, operation, some) for leader, some in elsewhere.items())
            ):
                answers |= told
        return answers

    async def _ask_peer(
        self,
        leader: int,
        operation: Operation[A, R, Response],
        parts: Mapping[SharePartitionKey, A],
    ) -> dict[SharePartitionKey, R]:
        refused = {key: operation.refused(key.partition, Error.NETWORK_EXCEPTION) for key in parts}
        if self._peers is None:
            return refused
        group_id = next(iter(parts)).group_id  # one group asks at a time
        topics: dict[UUID, list[A]] = {}
        for key, asked in parts.items():
            topics.setdefault(key.topic_id, []).append(asked)
        request = operation.request(
            group_id=group_id,
            topics=[
                operation.topic(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in topics.items()
            ],
        )
        try:
            response: StateResponse[R] = await self._peers.ask(
                leader, request, timeout_ms=_TIMEOUT_MS, channel=CHANNEL
            )
        except PeerUnreachable as fault:
            logs.COORDINATOR.warning("A share coordinator cannot be asked: %s", fault)
            return refused
        return refused | {
            SharePartitionKey(group_id, topic.topic_id, result.partition): result
            for topic in response.results
            for result in topic.partitions
        }


def _errors(results: Mapping[SharePartitionKey, R]) -> dict[SharePartitionKey, Error]:
    return {key: error_named(result.error_code) for key, result in results.items()}
