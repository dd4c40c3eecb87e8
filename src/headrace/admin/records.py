"""What lies in the logs: offsets by time, records to forget, disks and what they hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from headrace.admin.client import Admin
from headrace.admin.faults import Fault, error_of
from headrace.admin.views import by_topic
from headrace.client.connection import Connection
from headrace.client.faults import BrokerRefused, TimedOut, UnknownTopic, error_named
from headrace.client.offsets import FoundOffset, list_offsets
from headrace.errors import Error
from headrace.types import TopicPartition

_TIMEOUT_MS: Final = 30_000


class Replica(NamedTuple):
    """One replica on a disk; a future one is being moved there."""

    place: TopicPartition
    size: int
    offset_lag: int
    is_future: bool


class LogDir(NamedTuple):
    path: str
    error: Error
    replicas: tuple[Replica, ...]


def offsets_at(
    admin: Admin, places: Collection[TopicPartition], time_ms: int
) -> dict[TopicPartition, FoundOffset]:
    """The first offset of each partition at or after a time, or by one of the special numbers."""
    if not places:
        return {}
    return list_offsets(admin.cluster, dict.fromkeys(places, time_ms), read_committed=False)


def led_offsets(
    admin: Admin, places: Collection[TopicPartition], time_ms: int, *, read_committed: bool = False
) -> dict[TopicPartition, int]:
    """The offset of each partition at a time; those that have no leader now are left out."""
    led = {
        TopicPartition(topic.name, each.number)
        for topic in admin.topics()
        for each in topic.partitions
        if each.leader is not None
    }
    wanted = dict.fromkeys((place for place in places if place in led), time_ms)
    if not wanted:
        return {}
    found = list_offsets(admin.cluster, wanted, read_committed=read_committed)
    return {place: each.offset for place, each in found.items()}


def offset_at(admin: Admin, place: TopicPartition, time_ms: int) -> FoundOffset | Fault:
    """Like `offsets_at` for one partition that may not answer."""
    try:
        return offsets_at(admin, [place], time_ms)[place]
    except (BrokerRefused, UnknownTopic, TimedOut) as error:
        return Fault(error_of(error), str(error))


def delete_records(
    admin: Admin, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | Fault]:
    """Forget what lies before these offsets; the log start offset of each partition then."""
    from headrace.wire.messages.delete_records import (
        DeleteRecordsPartition,
        DeleteRecordsRequest,
        DeleteRecordsTopic,
    )

    outcome: dict[TopicPartition, int | Fault] = {}
    leaders: dict[Connection, list[TopicPartition]] = {}
    for place in sorted(before):
        try:
            leaders.setdefault(admin.cluster.leader(*place), []).append(place)
        except UnknownTopic as error:
            outcome[place] = Fault(Error.UNKNOWN_TOPIC_OR_PARTITION, str(error))
    for connection, places in leaders.items():
        topics = [
            DeleteRecordsTopic(
                name=name,
                partitions=[
                    DeleteRecordsPartition(
                        partition_index=number, offset=before[TopicPartition(name, number)]
                    )
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(places).items()
        ]
        answer = connection.call(DeleteRecordsRequest(topics=topics, timeout_ms=_TIMEOUT_MS))
        for topic in answer.topics:
            for each in topic.partitions:
                place = TopicPartition(topic.name, each.partition_index)
                outcome[place] = (
                    Fault(error_named(each.error_code), "")
                    if each.error_code
                    else each.low_watermark
                )
    return outcome


def log_dirs(
    admin: Admin, broker_id: int, places: Collection[TopicPartition] | None = None
) -> list[LogDir]:
    """The disks of one broker, with the replicas of these partitions or of all."""
    from headrace.wire.messages.describe_log_dirs import (
        DescribableLogDirTopic,
        DescribeLogDirsRequest,
    )

    topics = None
    if places is not None:
        topics = [
            DescribableLogDirTopic(topic=name, partitions=numbers)
            for name, numbers in by_topic(places).items()
        ]
    answer = admin.ask_broker(broker_id, DescribeLogDirsRequest(topics=topics))
    return [
        LogDir(
            folder.log_dir,
            error_named(folder.error_code),
            tuple(
                Replica(
                    TopicPartition(topic.name, each.partition_index),
                    each.partition_size,
                    each.offset_lag,
                    each.is_future_key,
                )
                for topic in folder.topics
                for each in topic.partitions
            ),
        )
        for folder in answer.results
    ]
