"""IP fraud record at a time, against a broker; the table in Hive has a test of its own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from examples.ip_fraud.on_storm import (
    KEYS,
    HiveOptions,
    build_topology,
    cluster_for,
    topology_settings,
)
from examples.ip_fraud.rules import CacheIPLookup, FraudRow, fraud_row
from examples.ip_fraud.traffic import Plan, batches, truth_of
from examples.storm.cluster import LocalCluster
from examples.storm.kafka_spout import KafkaSpout, SpoutConfig
from examples.topics import Draft, provide, write
from tests.apps.reading import committed, read_topic, texts

PLAN = Plan(seed=9, ticks=40, begin_ms=1_000)
QUICK = {"heartbeat.interval.ms": 200, "session.timeout.ms": 6000}
ONE_ROW = HiveOptions(txns_per_batch=1, batch_size=1)
TIMEOUT_S = 30.0


class ListTable:
    """A table in memory, which can be out of order for a while."""

    def __init__(self) -> None:
        self.rows: list[FraudRow] = []
        self.refusals = 0

    def append(self, rows: Sequence[FraudRow]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError("the table does not answer")
        self.rows += rows


def settings(servers: str) -> dict[str, str]:
    return topology_settings("iptopology.properties") | {"KafkaBroker": servers}


def fill(plan: Plan = PLAN) -> None:
    provide("iprecord", partitions=3)
    provide("fraudip", partitions=1)
    requests = [request for batch in batches(plan) for request in batch.requests]
    write("iprecord", [Draft(r.text, partition=n % 3) for n, r in enumerate(requests)])


def until(condition: Callable[[], bool]) -> Callable[[], bool]:
    """Stop when it holds; a test that waits too long fails by its own checks."""
    end = time.monotonic() + TIMEOUT_S
    return lambda: condition() or time.monotonic() > end


class CountingLookup(CacheIPLookup):
    """Knows how many records were judged."""

    asked = 0

    def is_fraud_ip(self, first_octet: str) -> bool:
        self.asked += 1
        return super().is_fraud_ip(first_octet)


EXPECTED = [fraud_row(text) for text in truth_of(PLAN).fraud.elements()]


def run_topology(servers: str, table: ListTable, lookup: CountingLookup, judged: int) -> None:
    """One worker, one row a write, until so many were judged and every row is in the table."""
    topology = build_topology(settings(servers), table, ONE_ROW, lookup, QUICK)

    def enough() -> bool:
        return lookup.asked >= judged and set(EXPECTED) <= set(table.rows)

    LocalCluster().run("KafkaLocal", topology, until(enough))


@pytest.mark.spec(
    "book1:A-15",
    "book2:A1-01",
    "book2:A1-03",
    "book2:A1-16",
    "book2:A1-17",
    "book2:A1-20",
    "book2:A1-28",
    "book2:A1-29",
    "book2:A1-30",
    "book2:A1-32",
    "book1:TK-01",
    "book1:TK-05",
)
def test_every_fraud_record_is_at_both_ends(servers: str) -> None:
    """Topic and table hold the same fraud; every record of the input counts as read."""
    fill()
    table = ListTable()
    truth = truth_of(PLAN)
    run_topology(servers, table, CountingLookup(), truth.records)
    assert truth.fraud_records > 5
    found = read_topic(servers, "fraudip")
    assert Counter(record.text for record in found) == truth.fraud
    assert {record.key for record in found} == {None}
    assert Counter(table.rows) == Counter(EXPECTED)
    assert all(row.ip and row.status_code.isdigit() for row in table.rows)
    assert sum(committed(servers, "id7", "iprecord").values()) == truth.records


@pytest.mark.spec("book1:T-06")
def test_a_restart_brings_again_what_was_not_done(servers: str) -> None:
    """The table fails, the topology dies, and the next one begins with what was left open."""
    fill()
    table = ListTable()
    table.refusals = 2  # in the bolt, and when it is cleaned up
    truth = truth_of(PLAN)
    with pytest.raises(OSError, match="does not answer"):
        run_topology(servers, table, CountingLookup(), truth.records)
    assert table.rows == []
    before = sum(committed(servers, "id7", "iprecord").values())
    lookup = CountingLookup()
    run_topology(servers, table, lookup, truth.records - before)
    assert before + lookup.asked == truth.records
    assert set(table.rows) == set(EXPECTED)
    assert set(texts(servers, "fraudip")) == set(truth.fraud)


@pytest.mark.spec("book2:A1-24")
def test_three_workers_share_the_partitions(servers: str) -> None:
    """On a cluster every worker reads partitions of its own, and nothing is missed."""
    fill()
    spouts: list[KafkaSpout] = []
    source = SpoutConfig(servers, "iprecord", "id7", settings=QUICK)
    lookup = CountingLookup()
    topology = build_topology(settings(servers), ListTable(), ONE_ROW, lookup)

    def spout() -> KafkaSpout:
        spouts.append(KafkaSpout(source))
        return spouts[-1]

    topology.set_spout("KafkaSpout", spout)
    truth = truth_of(PLAN)
    read_all = until(lambda: lookup.asked >= truth.records)
    stop = threading.Event()
    running = threading.Thread(
        target=cluster_for("IPFraud").run, args=("IPFraud", topology, stop.is_set)
    )
    running.start()
    while not read_all():
        pass
    stop.set()
    running.join()
    assert len(spouts) == 3
    assert isinstance(cluster_for(None), LocalCluster)
    assert set(texts(servers, "fraudip")) == set(truth.fraud)


@pytest.mark.spec("book2:A1-21")
def test_rows_wait_for_company() -> None:
    """A write comes when 250 times 2 rows are there, or after ten idle seconds."""
    assert HiveOptions() == HiveOptions(250, 2, 10.0, 10_000_000)
    assert HiveOptions().rows_per_write == 500


@pytest.mark.spec("book2:A1-14", "book2:A1-15", "book1:TK-02")
def test_the_settings_of_the_topology(tmp_path: Path) -> None:
    """All eight keys; a file without them names what it lacks."""
    found = topology_settings("iptopology.properties")
    assert tuple(found) == KEYS
    assert found == {
        "zkhost": "localhost:2181",
        "inputTopic": "iprecord",
        "outputTopic": "fraudip",
        "KafkaBroker": "localhost:9092",
        "consumerGroup": "id7",
        "metaStoreURI": "thrift://localhost:9083",
        "dbName": "default",
        "tblName": "fraud_ip",
    }
    short: Any = tmp_path / "short.properties"
    short.write_text("zkhost=here\n")
    with pytest.raises(SystemExit, match="lacks inputTopic, outputTopic"):
        topology_settings(str(short))
