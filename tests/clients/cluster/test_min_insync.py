"""`min.insync.replicas`: how many replicas must have a record before acks=all is answered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import Error
from tests.clients.cluster.observing import Observer
from tests.clients.raw import batch_of
from tests.clients.records import FIRST_TIMESTAMP_MS, Record
from tests.clients.requests import fetched, produced_bytes

if TYPE_CHECKING:
    from headrace.testing import Cluster


def _batch() -> memoryview:
    return batch_of([Record(b"k", b"v", FIRST_TIMESTAMP_MS)])


@pytest.mark.spec("admin:RC-30", "admin:RC-31", "slides:B20", "book1:R-10", "book1:R-11")
def test_a_leader_with_too_few_in_sync_replicas_is_read_only(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """acks=all is NOT_ENOUGH_REPLICAS, acks=1 and readers go on; writes resume with the replica."""
    topic = new_topic({0: [1, 2]}, {"min.insync.replicas": "2"})
    with observer.connected(1) as connection:
        assert produced_bytes(connection, topic, _batch()).error_code == Error.NONE
        cluster.broker(2).kill()
        observer.until_isr(topic, [1])
        appended = 1
        refused = produced_bytes(connection, topic, _batch())
        while refused.error_code == Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
            appended += 1  # the leader learns of it a moment later than the tree
            refused = produced_bytes(connection, topic, _batch())
        assert refused.error_code == Error.NOT_ENOUGH_REPLICAS
        assert produced_bytes(connection, topic, _batch(), acks=1).error_code == Error.NONE
        appended += 1
        answer = fetched(connection, topic, 0)
        assert (answer.error_code, answer.high_watermark) == (Error.NONE, appended)
        cluster.broker(2).start()
        observer.until_isr(topic, [1, 2])
        result = produced_bytes(connection, topic, _batch())
        assert (result.error_code, result.base_offset) == (Error.NONE, appended)


@pytest.mark.spec("slides:B21", "slides:B26", "admin:RC-12")
def test_a_write_whose_replicas_fall_behind_is_told_so(
    cluster: Cluster, observer: Observer, new_topic: Callable[..., str]
) -> None:
    """NOT_ENOUGH_REPLICAS_AFTER_APPEND: it was appended, then the in-sync replicas were too few."""
    topic = new_topic({0: [1, 2]}, {"min.insync.replicas": "2"})
    answers: list[Any] = []

    def write() -> None:
        with observer.connected(1) as connection:
            answers.append(produced_bytes(connection, topic, _batch()))

    cluster.broker(2).pause()
    try:
        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        observer.until(
            lambda: observer.partition(topic, 0, 1), lambda seen: seen.isr == {1}, "shrunk"
        )
        thread.join(10)
    finally:
        cluster.broker(2).resume()
    (answer,) = answers
    assert answer.error_code == Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    observer.until_isr(topic, [1, 2])
