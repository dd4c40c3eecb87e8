"""acks=1 and acks=all: who must have a record before its producer hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import Error
from headrace.wire.messages.produce import ProduceRequest
from tests.clients.cluster.observing import Observer
from tests.clients.raw import batch_headers, batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import (
    PRODUCE_VERSION,
    fetch_request,
    fetched,
    produce_request,
    produced_bytes,
)

if TYPE_CHECKING:
    from headrace.testing import Broker, Cluster

FOLLOWER = 2


def _batch() -> memoryview:
    return batch_of([Record(b"k", b"v", FIRST_TIMESTAMP_MS)])


def _bytes_held(broker: Broker, topic: str) -> int:
    return sum(path.stat().st_size for path in broker.data_dir.glob(f"{topic}-0/*.log"))


def _fetched_as(follower: int, connection: Any, topic: str) -> Any:
    request = fetch_request(topic, 0)
    request.replica_id = follower
    ((answer,),) = [each.partitions for each in connection.ask(request, 12).responses]
    return answer


@pytest.mark.spec("slides:C20", "slides:C21", "admin:RQ-07", "admin:RQ-09")
def test_one_is_the_leader_and_all_is_every_replica_in_sync(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """While a follower sleeps acks=1 is answered, acks=all is not; consumers read neither.

    The follower would: it asks with the same request as a consumer, but for its name.
    """
    topic = new_topic({0: [1, FOLLOWER]}, {"min.insync.replicas": "2"})
    follower = cluster.broker(FOLLOWER)
    batch = _batch()
    with observer.connected(1) as patient, observer.connected(1) as hasty:
        follower.pause()
        try:
            waits = patient.send(produce_request(topic, batch), PRODUCE_VERSION)
            written = observer.until(
                lambda: produced_bytes(hasty, topic, _batch(), acks=1),
                lambda answer: answer.base_offset > 0,
                "behind the batch of the patient producer",
            )
            assert written.error_code == Error.NONE
            assert _bytes_held(follower, topic) == 0
            consumer = fetched(hasty, topic, 0)
            assert (consumer.high_watermark, batch_headers(consumer.records)) == (0, [])
            replica = _fetched_as(FOLLOWER, hasty, topic)
            assert len(batch_headers(replica.records)) == written.base_offset + 1
        finally:
            follower.resume()
        response = patient.answer(waits, ProduceRequest, PRODUCE_VERSION)
        assert _bytes_held(follower, topic) >= len(batch)
    ((answer,),) = [each.partition_responses for each in response.responses]
    assert answer.error_code == Error.NONE
