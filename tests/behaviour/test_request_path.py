"""From socket to disk and back: who waits for what, and who does not."""

from __future__ import annotations

import contextlib
import os
import select
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import Error
from headrace.testing import Broker
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.produce import ProduceRequest
from tests.behaviour.in_process import HeldDisk, in_process_broker
from tests.clients.raw import Connection, batch_headers, batch_of
from tests.clients.records import numbered_records
from tests.clients.requests import (
    LATEST,
    create_topic,
    fetch_request,
    fetched,
    metadata_request,
    offset_at,
    produce_request,
    produced,
    produced_bytes,
)

CLIENTS = 8
PIPELINED = 40


@pytest.fixture
def held_disk(monkeypatch: pytest.MonkeyPatch) -> HeldDisk:
    """A disk that the test can hold: no fdatasync of this process returns then."""
    held = HeldDisk()
    monkeypatch.setattr(os, "fdatasync", held)
    return held


def has_answer(connection: Connection) -> bool:
    """Whether bytes of an answer have arrived by now."""
    readable, _, _ = select.select([connection._socket], [], [], 0)
    return bool(readable)


def answered_offset(answer: Any) -> int:
    (result,) = answer.responses[0].partition_responses
    assert result.error_code == Error.NONE
    return int(result.base_offset)


@pytest.mark.spec("admin:RQ-01", "admin:RQ-04")
def test_many_clients_are_received_and_answered_at_once(broker: Broker, topic: str) -> None:
    """Requests of eight clients are taken while answers to others are under way or held back.

    Every answer reaches the connection that asked, in the order of its requests, and a quick one
    waits behind a slow one.
    """
    batch = batch_of(numbered_records(1))
    with contextlib.ExitStack() as opened:
        waiting, *clients = [
            opened.enter_context(Connection(broker.bootstrap_servers)) for _ in range(CLIENTS + 1)
        ]
        end = CLIENTS * PIPELINED
        held = fetch_request(topic, 0, max_wait_ms=20_000, min_bytes=end * len(batch))
        held_ids = waiting.send(held, 12), waiting.send(metadata_request(topic), 12)
        sent = [
            [
                (
                    client.send(produce_request(topic, batch), 9),
                    client.send(metadata_request(topic), 12),
                )
                for client in clients
            ]
            for _ in range(PIPELINED)
        ]
        written = []
        for row in sent:
            for client, (produce_id, metadata_id) in zip(clients, row, strict=True):
                written.append(answered_offset(client.answer(produce_id, ProduceRequest, 9)))
                described = client.answer(metadata_id, MetadataRequest, 12)
                assert [each.name for each in described.topics] == [topic]
        assert sorted(written) == list(range(end))
        (found,) = waiting.answer(held_ids[0], FetchRequest, 12).responses[0].partitions
        assert len(batch_headers(found.records)) == end
        waiting.answer(held_ids[1], MetadataRequest, 12)


@pytest.mark.spec("admin:RQ-03", "book2:J-25")
def test_an_answer_waits_for_the_page_cache_only(held_disk: HeldDisk, tmp_path: Path) -> None:
    """With acks=all the records are in the file, readable by anybody, and no fsync was asked."""
    with in_process_broker(tmp_path) as broker, Connection(broker.bootstrap_servers) as connection:
        create_topic(connection, "orders")
        produced(connection, "orders", numbered_records(1))  # the leader's first: notes its epoch
        batch = batch_of(numbered_records(3))
        held_disk.hold()
        assert produced_bytes(connection, "orders", batch).base_offset == 1
        assert not held_disk.asked.is_set()
        (segment,) = (tmp_path / "orders-0").glob("*.log")
        assert segment.read_bytes().endswith(bytes(batch)[16:])
        assert bytes(fetched(connection, "orders", 1).records)[16:] == bytes(batch)[16:]
        held_disk.let_go()  # the orderly end flushes


@pytest.mark.spec("book1:R-12", "admin:RQ-03")
def test_what_is_not_committed_is_not_seen(held_disk: HeldDisk, tmp_path: Path) -> None:
    """With flush.messages=1 a produce is parked until its records are durable.

    Meanwhile nobody reads them and everybody else is served.
    """
    batch = batch_of(numbered_records(2))
    with (
        in_process_broker(tmp_path) as broker,
        Connection(broker.bootstrap_servers) as first,
        Connection(broker.bootstrap_servers) as second,
        Connection(broker.bootstrap_servers) as other,
    ):
        create_topic(other, "durable", config={"flush.messages": "1"})
        create_topic(other, "quick")
        for topic in ("durable", "quick"):  # a leader's first append also notes its epoch
            produced(other, topic, numbered_records(1))
        held_disk.hold()
        parked = [each.send(produce_request("durable", batch), 9) for each in (first, second)]
        assert held_disk.asked.wait(20)
        produced(other, "quick", numbered_records(1))
        unseen = fetched(other, "durable", 1)
        assert (unseen.high_watermark, batch_headers(unseen.records)) == (1, [])
        assert offset_at(other, "durable", LATEST).offset == 1
        assert not has_answer(first)
        assert not has_answer(second)
        held_disk.let_go()
        found = {
            answered_offset(first.answer(parked[0], ProduceRequest, 9)),
            answered_offset(second.answer(parked[1], ProduceRequest, 9)),
        }
        assert found == {1, 3}
        seen = fetched(other, "durable", 1)
        assert (seen.high_watermark, len(batch_headers(seen.records))) == (5, 2)


@pytest.mark.spec("book2:J-33")
def test_a_partition_is_written_at_its_end_only(broker: Broker, topic: str) -> None:
    """After each append the file is what it was before and the new batch behind it."""
    with Connection(broker.bootstrap_servers) as connection:
        produced(connection, topic, numbered_records(2))
        (segment,) = (broker.data_dir / f"{topic}-0").glob("*.log")
        before = segment.read_bytes()
        for count in (1, 50, 7):
            batch = batch_of(numbered_records(count))
            produced_bytes(connection, topic, batch)
            after = segment.read_bytes()
            assert after[: len(before)] == before
            assert after[len(before) :][16:] == bytes(batch)[16:]
            before = after
