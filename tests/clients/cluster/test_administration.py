"""Administration of a cluster: any broker takes a change, all of them follow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from headrace.errors import Error
from headrace.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from headrace.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from headrace.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.clients.cluster.clients import Writer, read_all
from tests.clients.cluster.observing import Observer
from tests.clients.contract import eventually
from tests.clients.raw import batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import EARLIEST, list_offsets_request, produced_bytes

if TYPE_CHECKING:
    from headrace.testing import Cluster

TOPIC, BROKER = 2, 4
DEBUGGER = -2


def configure(observer: Observer, broker_id: int, topic: str, name: str, value: str) -> None:
    """Set one setting of a topic, asking this broker."""
    resource = AlterConfigsResource(
        resource_type=TOPIC,
        resource_name=topic,
        configs=[AlterableConfig(name=name, config_operation=0, value=value)],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    (outcome,) = observer.ask(broker_id, request, 1).responses
    assert outcome.error_code == Error.NONE, outcome.error_message


@pytest.mark.spec("book2:J-01")
def test_a_setting_that_one_broker_was_told_holds_on_all(
    observer: Observer, new_topic: Callable[..., str]
) -> None:
    """max.message.bytes, set on broker 3, is kept by the leader, broker 1."""
    topic = new_topic({0: [1, 2]})
    batch = batch_of([Record(b"k", b"v" * 1000, FIRST_TIMESTAMP_MS)])
    with observer.connected(1) as connection:
        assert produced_bytes(connection, topic, batch).error_code == Error.NONE
        configure(observer, 3, topic, "max.message.bytes", "500")
        observer.until(
            lambda: produced_bytes(connection, topic, batch).error_code,
            lambda error: error == Error.MESSAGE_TOO_LARGE,
            "refused",
        )


def test_the_settings_of_a_broker_are_known_to_itself_alone(observer: Observer) -> None:
    """DescribeConfigs for another broker is INVALID_REQUEST."""
    for broker_id, error in ((1, Error.NONE), (2, Error.INVALID_REQUEST)):
        resource = DescribeConfigsResource(
            resource_type=BROKER, resource_name=str(broker_id), configuration_keys=["broker.rack"]
        )
        (result,) = observer.ask(1, DescribeConfigsRequest(resources=[resource]), 4).results
        assert result.error_code == error
        if not error:
            assert [(each.name, each.value) for each in result.configs] == [("broker.rack", "east")]


def test_deleted_records_are_deleted_on_every_replica(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """The leader answers when its followers' logs begin there too; followers refuse."""
    topic = new_topic({0: [1, 2, 3]})
    Writer(cluster.bootstrap_servers, topic).write(*[b"%d" % number for number in range(10)])
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=7)]
            )
        ],
        timeout_ms=10_000,
    )
    ((refused,),) = [each.partitions for each in observer.ask(2, request, 2).topics]
    assert refused.error_code == Error.NOT_LEADER_OR_FOLLOWER
    ((result,),) = [each.partitions for each in observer.ask(1, request, 2).topics]
    assert (result.error_code, result.low_watermark) == (Error.NONE, 7)
    for broker_id in (1, 2, 3):
        asked = list_offsets_request(topic, EARLIEST)
        asked.replica_id = DEBUGGER
        ((found,),) = [each.partitions for each in observer.ask(broker_id, asked, 7).topics]
        assert (found.error_code, found.offset) == (Error.NONE, 7), broker_id


@pytest.mark.spec("slides:B25")
def test_each_replica_notes_what_is_committed(
    cluster: Cluster, new_topic: Callable[..., str]
) -> None:
    """Every `replica.high.watermark.checkpoint.interval.ms` all brokers write it down."""
    topic = new_topic({0: [1, 2, 3]})
    Writer(cluster.bootstrap_servers, topic).write(b"a", b"b", b"c")

    def noted(broker_id: int) -> bool:
        file = cluster.broker(broker_id).log_dir / "replication-offset-checkpoint"
        return file.exists() and f"{topic} 0 3" in file.read_text().splitlines()

    for broker_id in (1, 2, 3):
        eventually(lambda broker_id=broker_id: noted(broker_id), f"{broker_id} has noted it")  # type: ignore[misc]


@pytest.mark.spec("admin:RC-22", "slides:B29")
@pytest.mark.parametrize("how", ["setting", "request"])
def test_an_unclean_election_is_the_operators_choice(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str], how: str
) -> None:
    """A replica that lacks records leads, by the topic's setting or on request; they are lost.

    The former leader follows it, and cuts what only itself had.
    """
    topic = new_topic({0: [1, 2]})
    # An idempotent producer would notice the loss, and refuse to go on.
    writer = Writer(cluster.bootstrap_servers, topic, enable_idempotence=False)
    writer.write(b"on both")
    cluster.broker(2).kill()
    observer.until_isr(topic, [1])
    writer.write(b"only on 1")
    cluster.broker(1).kill()
    cluster.broker(2).start()
    for broker_id in (2, 3):  # one that starts, and one that is asked to change it
        observer.until(
            lambda broker_id=broker_id: observer.partition(topic, 0, broker_id),  # type: ignore[misc]
            lambda seen: seen.leader == -1 and seen.offline == {1},
            "offline",
        )
    if how == "setting":
        configure(observer, 3, topic, "unclean.leader.election.enable", "true")
    else:
        wanted = [TopicPartitions(topic=topic, partitions=[0])]
        request = ElectLeadersRequest(election_type=1, topic_partitions=wanted)
        ((outcome,),) = [
            each.partition_result for each in observer.ask(3, request, 2).replica_election_results
        ]
        assert outcome.error_code == Error.NONE, outcome.error_message
    observer.until_led_by(topic, 2)
    writer.write(b"on 2")
    cluster.broker(1).start()
    observer.until_isr(topic, [1, 2])
    found = read_all(cluster.bootstrap_servers, topic, 2)
    assert found == {b"on both": 1, b"on 2": 1}
    logs = [
        (cluster.broker(each).log_dir / f"{topic}-0" / f"{0:020}.log").read_bytes()
        for each in (1, 2)
    ]
    assert logs[0] == logs[1]
