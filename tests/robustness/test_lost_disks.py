"""Log directories that fail while the broker runs: one of several, and the last one."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.testing.broker import BrokerFailed
from tests.clients.raw import Connection, batch_of
from tests.clients.records import Record
from tests.clients.requests import create_topic, produced, produced_bytes

PATIENCE_S = 30
ONE = [Record(b"key", b"value", 1_700_000_000_000)]


def lose(connection: Connection, topic: str, folder: Path) -> None:
    """Take a partition's folder away before its first record, as a dying disk does."""
    shutil.rmtree(folder)
    lost = produced_bytes(connection, topic, batch_of(ONE))
    assert lost.error_code == Error.KAFKA_STORAGE_ERROR


def test_a_broker_without_any_directory_ends_and_says_why(tmp_path: Path) -> None:
    """As Kafka does: a process that can serve nothing must not look alive."""
    broker = Broker(data=tmp_path).start()
    try:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "orders")
            lose(connection, "orders", tmp_path / "orders-0")
        broker.await_output("no log directory is left", PATIENCE_S)
        assert str(tmp_path) in broker.output
        deadline = time.monotonic() + PATIENCE_S
        while broker.running:  # it needs no signal to end
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(BrokerFailed, match="ended with 1"):
            broker.stop()
    finally:
        broker.kill()


def test_a_broker_with_a_directory_left_goes_on(tmp_path: Path) -> None:
    """The partitions of the other directory are served as before."""
    folders = [tmp_path / name for name in "ab"]
    with (
        Broker({"log.dirs": ",".join(map(str, folders))}) as broker,
        Connection(broker.bootstrap_servers) as connection,
    ):
        for topic in ("one", "two"):
            create_topic(connection, topic)
        homes = {
            topic: next(each for each in folders if (each / f"{topic}-0").exists())
            for topic in ("one", "two")
        }
        assert homes["one"] != homes["two"]
        lose(connection, "one", homes["one"] / "one-0")
        produced(connection, "two", ONE)
        assert broker.running
