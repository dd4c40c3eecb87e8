"""An application that keeps what it sends until it is acknowledged."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer

from tests.clients.drivers.driver import TIMEOUT_SECONDS
from tests.clients.producer.gateway import Gateway, Loss
from tests.clients.producer.written import values
from tests.clients.raw import Connection


class Outbox:
    """Outgoing messages on a disk, until somebody has confirmed them."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("create table if not exists message (id integer, value text)")

    def put(self, number: int, value: str) -> None:
        self._database.execute("insert into message values (?, ?)", (number, value))

    def waiting(self) -> list[tuple[int, str]]:
        return list(self._database.execute("select id, value from message order by id"))

    def send_all(self, bootstrap: str, topic: str) -> None:
        """Send what waits; a message leaves the disk when its acknowledgement has come."""
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "log_level": 0,
                "retries": 0,
                "enable.idempotence": False,
                "batch.num.messages": 1,
                "max.in.flight": 1,
            }
        )
        for number, value in self.waiting():

            def purge(error: KafkaError | None, _: Message, number: int = number) -> None:
                if error is None:
                    self._database.execute("delete from message where id = ?", (number,))

            producer.produce(topic, value, partition=0, on_delivery=purge)
            assert producer.flush(TIMEOUT_SECONDS) == 0

    def close(self) -> None:
        self._database.close()


@pytest.mark.spec("book1:P-34")
def test_an_outbox_loses_nothing(
    gateway: Gateway, connection: Connection, topic: str, tmp_path: Path
) -> None:
    """Messages are purged on success only; after a restart of the application the rest is sent.

    One whose acknowledgement was lost is sent twice: at least once is what this pattern gives.
    """
    outbox = Outbox(tmp_path / "outbox")
    for number in range(5):
        outbox.put(number, f"message-{number}")
    gateway.fail_next(None, Loss.REQUEST, None, Loss.ANSWER, None)
    outbox.send_all(gateway.bootstrap, topic)
    assert outbox.waiting() == [(1, "message-1"), (3, "message-3")]
    outbox.close()
    restarted = Outbox(tmp_path / "outbox")
    restarted.send_all(gateway.bootstrap, topic)
    assert restarted.waiting() == []
    restarted.close()
    stored = values(connection, topic)
    assert sorted(set(stored)) == [f"message-{number}" for number in range(5)]
    assert len(stored) == 6
    assert stored.count("message-3") == 2
