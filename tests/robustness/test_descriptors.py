"""Out of file descriptors: clients are told to come again, and nothing goes offline for it."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from headrace.wire.messages.metadata import MetadataRequest
from tests.clients.raw import Connection, ConnectionClosed, batch_of
from tests.clients.records import Record
from tests.clients.requests import (
    PRODUCE_VERSION,
    create_topic,
    fetched,
    offset_at,
    produce_request,
    produced,
    produced_bytes,
)

PATIENCE_S = 30
ONE = [Record(b"key", b"value", 1_700_000_000_000)]
FEW = 256
METADATA_VERSION = 9


@contextlib.contextmanager
def no_more_descriptors(broker: Broker) -> Iterator[None]:
    """Let the broker open nothing more, whatever it closes; what it has stays open."""
    before = resource.prlimit(broker.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, before)


def offline_directories(connection: Connection) -> list[str]:
    results = connection.ask(DescribeLogDirsRequest(topics=None), 4).results
    return [each.log_dir for each in results if each.error_code]


def test_a_broker_without_descriptors_refuses_for_now_and_keeps_its_directory() -> None:
    """Writing, reading and finding need a file; each is retriable, and succeeds afterwards."""
    with (
        Broker() as broker,
        Connection(broker.bootstrap_servers) as connection,
        Connection(broker.bootstrap_servers) as reader,
    ):
        for topic in ("written", "new"):
            create_topic(connection, topic)
        produced(connection, "written", ONE)
        with no_more_descriptors(broker):
            # "written" may have its file open; "new" needs one, for which handles were closed.
            refused = produced_bytes(connection, "new", batch_of(ONE))
            assert refused.error_code == Error.KAFKA_STORAGE_ERROR
            # Found without a look at the file, and then it cannot be sent: the connection ends.
            with pytest.raises(ConnectionClosed):
                fetched(reader, "written", 0)
            found = offset_at(connection, "written", 0)
            assert found.error_code == Error.KAFKA_STORAGE_ERROR
            assert offline_directories(connection) == []
        produced(connection, "new", ONE)
        assert len(fetched(connection, "written", 0).records) > 0
        assert offset_at(connection, "written", 0).offset == 0
        assert offline_directories(connection) == []
        broker.await_output("ulimit -n")


def test_a_flush_without_descriptors_is_made_up_for() -> None:
    """Who waits for the fsync waits until there is a descriptor; then it is acknowledged."""
    properties = {"log.flush.interval.messages": 2}
    with Broker(properties) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "synced")
        produced(connection, "synced", ONE)  # the file is open now, and nothing was flushed
        with no_more_descriptors(broker):
            request = produce_request("synced", batch_of(ONE))
            sent = connection.send(request, PRODUCE_VERSION)
            broker.await_output("Out of file descriptors", PATIENCE_S)
        answer = connection.answer(sent, type(request), PRODUCE_VERSION)
        assert answer.responses[0].partition_responses[0].error_code == Error.NONE
        assert offline_directories(connection) == []


def test_a_slow_reader_without_descriptors_is_closed() -> None:
    """To wait for a full socket takes a descriptor; a client that cannot have it is not kept."""
    with (
        Broker() as broker,
        Connection(broker.bootstrap_servers) as connection,
        Connection(broker.bootstrap_servers) as slow,
    ):
        create_topic(connection, "wide", partitions=500)
        with no_more_descriptors(broker):
            for _ in range(400):
                slow.send(MetadataRequest(topics=None), METADATA_VERSION)
            broker.await_output("Closing connection", PATIENCE_S)
            assert connection.ask(ApiVersionsRequest(), 0).error_code == Error.NONE


@pytest.fixture
def few_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brokers of this test may have so many open files, and cannot ask for more."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nulimit -n {FEW}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))


@pytest.mark.usefixtures("few_descriptors")
def test_connections_leave_descriptors_for_files() -> None:
    """A crowd beyond `ulimit -n` is turned away; who is inside goes on, files included."""
    with contextlib.ExitStack() as crowd, Broker() as broker:
        inside = crowd.enter_context(Connection(broker.bootstrap_servers))
        assert inside.ask(ApiVersionsRequest(), 0).error_code == Error.NONE
        address = ("127.0.0.1", broker.port)
        visitors = [
            crowd.enter_context(socket.create_connection(address, PATIENCE_S)) for _ in range(FEW)
        ]
        broker.await_output("raise it with ulimit -n", PATIENCE_S)
        for number in range(3):
            create_topic(inside, f"t{number}", partitions=10)
            produced(inside, f"t{number}", ONE)
        assert offline_directories(inside) == []
        assert len(os.listdir(f"/proc/{broker.pid}/fd")) < FEW
        for visitor in visitors:
            visitor.close()
        with Connection(broker.bootstrap_servers) as late:
            assert late.ask(ApiVersionsRequest(), 0).error_code == Error.NONE
