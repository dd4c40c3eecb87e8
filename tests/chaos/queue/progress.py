"""How far a share group is, as its coordinator says."""

from __future__ import annotations

from uuid import UUID

from headrace.wire.messages import metadata
from headrace.wire.messages import read_share_group_state_summary as summary_api
from tests.clients.raw import Connection


def start_offsets(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """The start offset of each partition of the topic; -1 where nothing is done yet."""
    with Connection(bootstrap) as connection:
        topic_id, partitions = _find(connection, topic)
        request = summary_api.ReadShareGroupStateSummaryRequest(
            group_id=group,
            topics=[
                summary_api.ReadStateSummaryData(
                    topic_id=topic_id,
                    partitions=[
                        summary_api.PartitionData(partition=index, leader_epoch=-1)
                        for index in range(partitions)
                    ],
                )
            ],
        )
        response = connection.ask(request, 1)
    return {
        each.partition: -1 if each.error_code else each.start_offset
        for each in response.results[0].partitions
    }


def _find(connection: Connection, topic: str) -> tuple[UUID, int]:
    request = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name=topic)])
    (found,) = connection.ask(request, 12).topics
    return found.topic_id, len(found.partitions)
