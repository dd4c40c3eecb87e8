"""What a start finds on disk and not in the tree: deletions cut short, and folders from elsewhere.

A partition folder copied in from Apache Kafka becomes a topic (decision 0003); the folder of a
topic whose deletion a crash interrupted is deleted, not adopted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.watching import logs
from headrace.cluster import layout
from headrace.cluster.image import Change, ClusterImage, PartitionImage, TopicCreated, TopicImage
from headrace.coordination.tree import Tree
from headrace.types import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from headrace.broker.membership.metadata import Metadata
    from headrace.broker.storage.storage import Storage
    from headrace.log import PartitionLog


def finish_deletions(tree: Tree, storage: Storage) -> None:
    """Delete the folders of topics that were deleted before the last stop, and the notes."""
    for name in tree.children(layout.DELETED_TOPICS):
        storage.remove_leftovers(name)
        tree.delete(layout.deleted_topic_path(name))


async def adopt(
    metadata: Metadata, storage: Storage, broker_id: int, new_id: Callable[[], UUID]
) -> None:
    """Make topics of the partition folders that nobody in the cluster knows."""
    for name, found in storage.unknown_logs(metadata.image).items():
        if name in metadata.image.topics:
            logs.LOG_MANAGER.error(
                "Folders of %s belong to another topic of that name and are not served", name
            )
            continue
        topic = _topic(name, found, broker_id, new_id)

        def decide(_: ClusterImage, topic: TopicImage = topic) -> list[Change]:
            return [TopicCreated(topic)]

        await metadata.change(decide)
        logs.LOG_MANAGER.info("Adopted %s with %d partitions", name, len(topic.partitions))


def _topic(
    name: str, found: list[PartitionLog], broker_id: int, new_id: Callable[[], UUID]
) -> TopicImage:
    """A topic that fits the folders; partitions between them that are missing begin empty."""
    topic_id = next((log.topic_id for log in found if log.topic_id != ZERO_UUID), None) or new_id()
    highest = max(log.topic_partition.partition for log in found)
    epochs = {log.topic_partition.partition: log.leader_epochs.latest_epoch for log in found}
    partitions = [
        PartitionImage(
            replicas=(broker_id,),
            isr=(broker_id,),
            leader=broker_id,
            leader_epoch=max(epochs.get(index, 0), 0),
        )
        for index in range(highest + 1)
    ]
    return TopicImage(name, topic_id, partitions)
