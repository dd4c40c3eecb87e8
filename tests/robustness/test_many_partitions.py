"""Thousands of partitions come and go, and other clients are served meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.clients.raw import Connection, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    CREATE_TOPICS_VERSION,
    LATEST,
    await_topic,
    create_topic,
    create_topics_request,
    offset_at,
    produced_bytes,
)

PARTITIONS = 4000


class Visitor(threading.Thread):
    """Asks one small question after the other, and remembers its longest wait."""

    def __init__(self, broker: Broker) -> None:
        super().__init__()
        self._broker = broker
        self._over = threading.Event()
        self.longest_s = 0.0

    def run(self) -> None:
        with Connection(self._broker.bootstrap_servers) as connection:
            while not self._over.is_set():
                began = time.monotonic()
                connection.ask(ApiVersionsRequest(), 0)
                self.longest_s = max(self.longest_s, time.monotonic() - began)

    def stop(self) -> None:
        self._over.set()
        self.join()


def share_of_longest_wait(broker: Broker, work: Callable[[], Any]) -> float:
    """How much of the time of some work another client had to wait for one answer."""
    visitor = Visitor(broker)
    visitor.start()
    began = time.monotonic()
    try:
        work()
    finally:
        took_s = time.monotonic() - began
        visitor.stop()
    return visitor.longest_s / took_s


def test_others_are_served_while_thousands_of_partitions_come_and_go() -> None:
    """No answer waits for most of the work, and the work is done when it is answered."""
    properties = {"log.segment.delete.delay.ms": 0}
    with Broker(properties) as broker, Connection(broker.bootstrap_servers) as connection:

        def create() -> None:
            request = create_topics_request("many", partitions=PARTITIONS)
            (created,) = connection.ask(request, CREATE_TOPICS_VERSION).topics
            assert created.error_code == Error.NONE, created.error_message

        def delete() -> None:
            request = DeleteTopicsRequest(topics=[DeleteTopicState(name="many")], timeout_ms=60_000)
            (deleted,) = connection.ask(request, 6).responses
            assert deleted.error_code == Error.NONE, deleted.error_message

        assert share_of_longest_wait(broker, create) < 0.5
        last = offset_at(connection, "many", LATEST, partition=PARTITIONS - 1)
        assert last.error_code == Error.NONE
        assert share_of_longest_wait(broker, delete) < 0.5
        assert not [path for path in broker.data_dir.glob("many-*") if "-delete" not in path.name]


def test_many_partitions_are_spread_and_survive_a_kill(tmp_path: Path) -> None:
    """A thread makes the folders of many: as even as one after the other, and as good."""
    folders = [tmp_path / "a", tmp_path / "b"]
    settings = {"log.dirs": ",".join(map(str, folders)), "broker.id": 0}
    with Broker(settings) as broker:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "many", partitions=151)
            batch = batch_of(numbered_records(3))
            assert produced_bytes(connection, "many", batch, partition=150).error_code == 0
        counts = sorted(len(list(folder.glob("many-*"))) for folder in folders)
        assert counts == [75, 76]
        broker.kill()
        broker.start()
        with Connection(broker.bootstrap_servers) as connection:
            await_topic(connection, "many", 151)
            assert offset_at(connection, "many", LATEST, partition=150).offset == 3
