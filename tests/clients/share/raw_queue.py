"""Share groups by bare requests: a queue whose state is initialized, and members that work at it.

The group coordinator would initialize the state and assign partitions; who asks the partition's
leader needs neither, and a test says exactly what is asked.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from headrace.errors import Error
from headrace.types import uuid_to_text
from headrace.wire.messages import delete_share_group_state as delete_api
from headrace.wire.messages import find_coordinator
from headrace.wire.messages import incremental_alter_configs as configs
from headrace.wire.messages import initialize_share_group_state as initialize_api
from headrace.wire.messages import read_share_group_state as read_api
from headrace.wire.messages import read_share_group_state_summary as summary_api
from headrace.wire.messages import share_acknowledge as acknowledge_api
from headrace.wire.messages import share_fetch as fetch_api
from headrace.wire.messages import write_share_group_state as write_api
from tests.clients.raw import Connection
from tests.clients.requests import topic_id_of

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
ACKNOWLEDGED = 2  # a state, not a type
VERSION = 2
_SHARE, _GROUP, _SET = 2, 32, 0

Said = tuple[int, int, list[int]]  # first offset, last offset, types


class Queue:
    """A partition as one share group sees it."""

    def __init__(
        self, connection: Connection, topic: str, group: str, *, start_offset: int = 0
    ) -> None:
        self.connection = connection
        self.group = group
        self.topic_id = topic_id_of(connection, topic)
        self._find_coordinator()
        assert self.initialize(state_epoch=1, start_offset=start_offset) == Error.NONE

    def _find_coordinator(self) -> None:
        name = uuid_to_text(self.topic_id)
        request = find_coordinator.FindCoordinatorRequest(
            key_type=_SHARE, coordinator_keys=[f"{self.group}:{name}:0"]
        )
        (found,) = self.connection.ask(request, 6).coordinators
        assert found.error_code == Error.NONE, found.error_message

    def initialize(self, *, state_epoch: int, start_offset: int) -> int:
        part = initialize_api.PartitionData(
            partition=0, state_epoch=state_epoch, start_offset=start_offset
        )
        topics = [initialize_api.InitializeStateData(topic_id=self.topic_id, partitions=[part])]
        request = initialize_api.InitializeShareGroupStateRequest(
            group_id=self.group, topics=topics
        )
        error: int = self.connection.ask(request, 0).results[0].partitions[0].error_code
        return error

    def read(self, *, leader_epoch: int = 0, topic_id: UUID | None = None) -> Any:
        """The partition's part of a ReadShareGroupState."""
        part = read_api.PartitionData(partition=0, leader_epoch=leader_epoch)
        topics = [read_api.ReadStateData(topic_id=topic_id or self.topic_id, partitions=[part])]
        request = read_api.ReadShareGroupStateRequest(group_id=self.group, topics=topics)
        return self.connection.ask(request, 0).results[0].partitions[0]

    def write(self, *, version: int = 1, leader_epoch: int = 0, state_epoch: int = 1) -> int:
        """Offsets 7 to 9 were acknowledged, and the start is 6."""
        batch = write_api.StateBatch(
            first_offset=7, last_offset=9, delivery_state=ACKNOWLEDGED, delivery_count=1
        )
        part = write_api.PartitionData(
            partition=0,
            state_epoch=state_epoch,
            leader_epoch=leader_epoch,
            start_offset=6,
            delivery_complete_count=3,
            state_batches=[batch],
        )
        topics = [write_api.WriteStateData(topic_id=self.topic_id, partitions=[part])]
        request = write_api.WriteShareGroupStateRequest(group_id=self.group, topics=topics)
        error: int = self.connection.ask(request, version).results[0].partitions[0].error_code
        return error

    def delete(self) -> int:
        part = delete_api.PartitionData(partition=0)
        topics = [delete_api.DeleteStateData(topic_id=self.topic_id, partitions=[part])]
        request = delete_api.DeleteShareGroupStateRequest(group_id=self.group, topics=topics)
        error: int = self.connection.ask(request, 0).results[0].partitions[0].error_code
        return error

    def configure(self, **settings: str) -> None:
        """Settings of the group, with underscores for dots."""
        changes = [
            configs.AlterableConfig(name=name.replace("_", "."), config_operation=_SET, value=value)
            for name, value in settings.items()
        ]
        resource = configs.AlterConfigsResource(
            resource_type=_GROUP, resource_name=self.group, configs=changes
        )
        request = configs.IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
        (done,) = self.connection.ask(request, 1).responses
        assert done.error_code == Error.NONE, done.error_message

    def summary(self) -> tuple[int, int]:
        """(start offset, offsets behind it that are done), as they are kept."""
        part = summary_api.PartitionData(partition=0, leader_epoch=-1)
        topics = [summary_api.ReadStateSummaryData(topic_id=self.topic_id, partitions=[part])]
        request = summary_api.ReadShareGroupStateSummaryRequest(group_id=self.group, topics=topics)
        result = self.connection.ask(request, 1).results[0].partitions[0]
        return result.start_offset, result.delivery_complete_count

    def done(self) -> int:
        """How many offsets are done, wherever the start offset is: Kafka's may lag behind."""
        return sum(self.summary())


class RawMember:
    """A member with a connection and a share session of its own."""

    def __init__(self, where: str | Connection, queue: Queue) -> None:
        self.connection = where if isinstance(where, Connection) else Connection(where)
        self.queue = queue
        self.member_id = uuid_to_text(uuid4())
        self.epoch = 0

    def close(self) -> None:
        self.connection.__exit__(None, None, None)

    def send_fetch(self, *said: Said, **options: Any) -> int:
        return self.connection.send(self.fetch_request(*said, **options), VERSION)

    def fetch_request(
        self,
        *said: Said,
        records: int = 500,
        wait_ms: int = 0,
        strict: bool = False,
        epoch: int | None = None,
        renews: bool = False,
        batch_size: int = 500,
        forget: bool = False,
    ) -> fetch_api.ShareFetchRequest:
        epoch = self._next_epoch(epoch)
        part = fetch_api.FetchPartition(
            partition_index=0,
            acknowledgement_batches=[
                fetch_api.AcknowledgementBatch(
                    first_offset=first, last_offset=last, acknowledge_types=types
                )
                for first, last, types in said
            ],
        )
        topic_id = self.queue.topic_id
        forgotten = [fetch_api.ForgottenTopic(topic_id=topic_id, partitions=[0])] if forget else []
        return fetch_api.ShareFetchRequest(
            group_id=self.queue.group,
            member_id=self.member_id,
            share_session_epoch=epoch,
            max_wait_ms=wait_ms,
            min_bytes=0 if renews else 1,
            max_bytes=0 if renews else 1 << 25,
            max_records=0 if renews else records,
            batch_size=batch_size,
            share_acquire_mode=int(strict),
            is_renew_ack=renews,
            topics=[fetch_api.FetchTopic(topic_id=topic_id, partitions=[part])],
            forgotten_topics_data=forgotten,
        )

    def _next_epoch(self, epoch: int | None) -> int:
        if epoch is not None:
            return epoch
        self.epoch += 1
        return self.epoch - 1

    def ask(self, *said: Said, **options: Any) -> Any:
        """The whole answer to a ShareFetch."""
        return self.connection.ask(self.fetch_request(*said, **options), VERSION)

    def fetch(self, *said: Said, **options: Any) -> list[tuple[int, int, int]]:
        """(first offset, last offset, delivery count) of what was acquired."""
        return acquired(self.ask(*said, **options))

    def answer(self, correlation_id: int) -> Any:
        return self.connection.answer(correlation_id, fetch_api.ShareFetchRequest, VERSION)

    def acknowledge(self, *said: Said, epoch: int | None = None, renews: bool = False) -> int:
        """The error of a ShareAcknowledge, of the whole or of the partition."""
        part = acknowledge_api.AcknowledgePartition(
            partition_index=0,
            acknowledgement_batches=[
                acknowledge_api.AcknowledgementBatch(
                    first_offset=first, last_offset=last, acknowledge_types=types
                )
                for first, last, types in said
            ],
        )
        topics = [acknowledge_api.AcknowledgeTopic(topic_id=self.queue.topic_id, partitions=[part])]
        request = acknowledge_api.ShareAcknowledgeRequest(
            group_id=self.queue.group,
            member_id=self.member_id,
            share_session_epoch=self._next_epoch(epoch),
            is_renew_ack=renews,
            topics=topics if said else [],
        )
        response = self.connection.ask(request, VERSION)
        error: int = response.error_code
        for topic in response.responses:
            for each in topic.partitions:
                error = error or each.error_code
        return error


def acquired(response: Any) -> list[tuple[int, int, int]]:
    assert response.error_code == Error.NONE, response.error_message
    found = []
    for topic in response.responses:
        for part in topic.partitions:
            assert part.error_code == Error.NONE, Error(part.error_code).name
            assert part.acknowledge_error_code == Error.NONE
            found += [
                (each.first_offset, each.last_offset, each.delivery_count)
                for each in part.acquired_records
            ]
    return found
