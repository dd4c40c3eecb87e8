"""kcat against the broker."""

from __future__ import annotations

import json
import time

import pytest

from headrace.records.compression import Codec
from tests.clients.drivers.kcat import Kcat
from tests.clients.raw import Connection, batch_headers
from tests.clients.records import (
    CODECS,
    FIRST_TIMESTAMP_MS,
    TIMESTAMP_STEP_MS,
    numbered_records,
    sample_records,
)
from tests.clients.requests import fetched, produced


@pytest.mark.spec("admin:LS-05", "admin:RQ-18")
@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_byte_for_byte(
    kcat: Kcat, connection: Connection, topic: str, codec: str
) -> None:
    """Keys, values and headers survive; kcat's records carry the time of their writing."""
    records = sample_records(without=kcat.refuses)
    began_ms = time.time_ns() // 1_000_000
    kcat.produce(topic, 0, records, codec=codec)
    ended_ms = time.time_ns() // 1_000_000
    found = kcat.read(topic, 0, 0, len(records))
    assert [(each.record.key, each.record.value, each.record.headers) for each in found] == [
        (record.key, record.value, record.headers) for record in records
    ]
    assert [each.offset for each in found] == list(range(len(records)))
    assert all(began_ms <= each.record.timestamp_ms <= ended_ms for each in found)
    stored = batch_headers(fetched(connection, topic, 0).records)
    assert Codec[codec.upper()] in {header.compression for header in stored}


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_every_level_of_acknowledgement(kcat: Kcat, topic: str, acks: int) -> None:
    """acks=0, 1 and all each store the record."""
    (record,) = numbered_records(1)
    kcat.produce(topic, 0, [record], acks=acks)
    (found,) = kcat.read(topic, 0, 0, 1)
    assert found.record.value == record.value


def test_lists_the_cluster(kcat: Kcat, bootstrap: str, topic: str) -> None:
    """`kcat -L -J` shows the broker's advertised address and the topic with its leader."""
    listing = json.loads(kcat.run("-L", "-J", "-t", topic))
    (broker,) = listing["brokers"]
    assert broker["name"] == bootstrap
    (found,) = listing["topics"]
    assert found["topic"] == topic
    assert [each["leader"] for each in found["partitions"]] == [broker["id"]]


def test_asks_for_an_offset_by_time(kcat: Kcat, connection: Connection, topic: str) -> None:
    """`kcat -Q -t topic:partition:timestamp` finds the first record at or after a time."""
    produced(connection, topic, numbered_records(10))
    timestamp_ms = FIRST_TIMESTAMP_MS + 4 * TIMESTAMP_STEP_MS
    answer = kcat.run("-Q", "-t", f"{topic}:0:{timestamp_ms}").decode()
    assert answer.split() == [topic, "[0]", "offset", "4"]
