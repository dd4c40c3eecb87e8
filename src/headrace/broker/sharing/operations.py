"""The five questions to share coordinators, told apart only by data (KIP-932, APIs 83 to 87).

A request is about many share partitions, and each of them may have another coordinator. So each is
asked about by itself: `answer` does it for brokers that ask over the wire, and
`headrace.broker.sharing.states` for this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar
from uuid import UUID

from headrace.broker.net.handler import Answer
from headrace.coordinator.effects import Caller
from headrace.coordinator.share.shard import ShareEffects, ShareShard
from headrace.errors import Error
from headrace.types import SharePartitionKey, uuid_to_text
from headrace.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)

if TYPE_CHECKING:
    from headrace.broker.net.call import Call
    from headrace.broker.sharing.coordinators import Shares


class _Asked(Protocol):
    """What a request says of one partition."""

    partition: int


class _Result(Protocol):
    """What a response says of one partition."""

    partition: int
    error_code: int


A = TypeVar("A", bound=_Asked)
R = TypeVar("R", bound=_Result)
Response = TypeVar("Response")
_Item = TypeVar("_Item")


class OfTopic(Protocol[_Item]):
    topic_id: UUID
    partitions: list[_Item]


class StateRequest(Protocol[_Item]):
    group_id: str

    @property
    def topics(self) -> Sequence[OfTopic[_Item]]: ...


class StateResponse(Protocol[_Item]):
    @property
    def results(self) -> Sequence[OfTopic[_Item]]: ...


class Operation(NamedTuple, Generic[A, R, Response]):
    """One API: its messages, and the shard's handler for one part of a request."""

    request: Callable[..., StateRequest[A]]
    topic: Callable[..., OfTopic[A]]
    response: Callable[..., Response]
    topic_result: Callable[..., OfTopic[R]]
    refused: Callable[[int, Error], R]
    work: Callable[[ShareShard, SharePartitionKey, A, Caller[R], int], ShareEffects]

    def about(
        self, key: SharePartitionKey, asked: A
    ) -> Callable[[ShareShard, Caller[R], int], ShareEffects]:
        """The question about one share partition, for its shard."""
        return lambda shard, who, now_ms: self.work(shard, key, asked, who, now_ms)

    def answer(self, shares: Shares, request: StateRequest[A], call: Call) -> Answer[Response]:
        """Let the coordinators on this broker answer what another broker asks."""
        parts = [
            (SharePartitionKey(request.group_id, topic.topic_id, asked.partition), asked)
            for topic in request.topics
            for asked in topic.partitions
        ]

        def combine(results: list[R]) -> Response:
            rest = iter(results)
            return self.response(
                results=[
                    self.topic_result(
                        topic_id=topic.topic_id, partitions=[next(rest) for _ in topic.partitions]
                    )
                    for topic in request.topics
                ]
            )

        return shares.ask_each(
            [coordinator_key(key) for key, _ in parts],
            call,
            lambda index, shard, who, now_ms: self.work(shard, *parts[index], who, now_ms),
            lambda index, error: self.refused(parts[index][0].partition, error),
            combine,
        )


INITIALIZE: Final = Operation(
    initialize_share_group_state.InitializeShareGroupStateRequest,
    initialize_share_group_state.InitializeStateData,
    initialize_share_group_state.InitializeShareGroupStateResponse,
    initialize_share_group_state.InitializeStateResult,
    lambda index, error: initialize_share_group_state.PartitionResult(
        partition=index, error_code=error
    ),
    ShareShard.handle_initialize,
)
READ: Final = Operation(
    read_share_group_state.ReadShareGroupStateRequest,
    read_share_group_state.ReadStateData,
    read_share_group_state.ReadShareGroupStateResponse,
    read_share_group_state.ReadStateResult,
    lambda index, error: read_share_group_state.PartitionResult(
        partition=index, error_code=error, state_batches=[]
    ),
    ShareShard.handle_read,
)
WRITE: Final = Operation(
    write_share_group_state.WriteShareGroupStateRequest,
    write_share_group_state.WriteStateData,
    write_share_group_state.WriteShareGroupStateResponse,
    write_share_group_state.WriteStateResult,
    lambda index, error: write_share_group_state.PartitionResult(partition=index, error_code=error),
    ShareShard.handle_write,
)
DELETE: Final = Operation(
    delete_share_group_state.DeleteShareGroupStateRequest,
    delete_share_group_state.DeleteStateData,
    delete_share_group_state.DeleteShareGroupStateResponse,
    delete_share_group_state.DeleteStateResult,
    lambda index, error: delete_share_group_state.PartitionResult(
        partition=index, error_code=error
    ),
    ShareShard.handle_delete,
)
SUMMARY: Final = Operation(
    read_share_group_state_summary.ReadShareGroupStateSummaryRequest,
    read_share_group_state_summary.ReadStateSummaryData,
    read_share_group_state_summary.ReadShareGroupStateSummaryResponse,
    read_share_group_state_summary.ReadStateSummaryResult,
    lambda index, error: read_share_group_state_summary.PartitionResult(
        partition=index, error_code=error
    ),
    ShareShard.handle_summary,
)


def coordinator_key(key: SharePartitionKey) -> str:
    """The name of a share partition by which its coordinator is found, as Kafka spells it."""
    return f"{key.group_id}:{uuid_to_text(key.topic_id)}:{key.partition}"
