"""The fraud pipeline on a Spark standalone cluster of two workers, one of which is lost."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.orc as orc
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from examples.ip_fraud.on_spark import FRAUD_TOPIC, HITS_TOPIC, SHARE_TOPIC, TABLE
from examples.ip_fraud.traffic import Batch, Plan, Truth, batches, truth_of
from headrace.testing import Broker
from tests.kafka.toolchain import REPOSITORY, spawn, stop
from tests.pipelines.cluster.standalone import HOST, StandaloneCluster, driver_environment
from tests.pipelines.sink.stage import read_all

TOPIC = "iprecord"
PLAN = Plan(seed=3, ticks=12, records_per_tick=400, begin_ms=1_078_786_800_000, returning=0.5)
TIMEOUT_SECONDS = 300
POLL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """What the pipeline has written, in the words of the generator's truth."""

    fraud: Counter[str]
    hits: dict[str, int]
    by_time: dict[int, tuple[int, int]]

    def is_all_of(self, truth: Truth) -> bool:
        return (self.fraud, self.hits, self.by_time) == (truth.fraud, truth.hits, truth.by_time)


def found_in(bootstrap: str) -> Found:
    """Read the topics; of the totals, the last one of each key counts."""
    fraud = (message.value() or b"" for message in read_all(bootstrap, FRAUD_TOPIC))
    shares = {key: json.loads(value) for key, value in _latest(bootstrap, SHARE_TOPIC)}
    return Found(
        Counter(value.decode() for value in fraud),
        {key: int(value) for key, value in _latest(bootstrap, HITS_TOPIC)},
        {int(key): (share["records"], share["fraud"]) for key, share in shares.items()},
    )


def _latest(bootstrap: str, topic: str) -> Iterator[tuple[str, bytes]]:
    for message in read_all(bootstrap, topic):
        yield (message.key() or b"").decode(), message.value() or b""


def send(bootstrap: str, sent: Batch) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for request in sent.requests:
        producer.produce(TOPIC, request.text, timestamp=sent.timestamp_ms)
    assert producer.flush(30) == 0


def create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = (TOPIC, FRAUD_TOPIC, HITS_TOPIC, SHARE_TOPIC)
    for future in admin.create_topics([NewTopic(name, 2, 1) for name in names]).values():
        future.result(30)


def run_command(master: str, bootstrap: str, folder: Path, java_options: str) -> list[str]:
    """The pipeline as a user starts it."""
    settings = {
        "spark.cores.max": "2",
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executorEnv.PYTHONPATH": str(REPOSITORY),
        "spark.driver.host": HOST,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"{java_options} -Dderby.system.home={folder}",
        "spark.executor.extraJavaOptions": java_options,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    words = ["-b", bootstrap, "--state", str(folder / "state"), "--master", master]
    pairs = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    pipeline = "examples.ip_fraud.on_spark:pipeline"
    return [sys.executable, "-m", "headrace", "run", pipeline, *words, *pairs]


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.spec("book1:S-01", "book1:S-02", "book1:S-03", "book1:S-05")
def test_a_lost_worker_changes_nothing(tmp_path: Path, quick_start: str) -> None:
    """Two workers run the fraud pipeline; one is killed with its executor in the middle of the
    traffic: fraud rows, hits per address, shares and the table are those of the generator."""
    truth = truth_of(PLAN)
    log = tmp_path / "run.log"
    with (
        Broker() as broker,
        StandaloneCluster(tmp_path / "cluster", workers=2, java_options=quick_start) as cluster,
    ):
        bootstrap = broker.bootstrap_servers
        create_topics(bootstrap)
        traffic = batches(PLAN)
        for _ in range(4):
            send(bootstrap, next(traffic))
        command = run_command(cluster.url, bootstrap, tmp_path, quick_start)
        with log.open("wb") as out:
            run = spawn(command, stdout=out, stderr=out, env=driver_environment())
        try:
            deadline = time.monotonic() + TIMEOUT_SECONDS

            def said() -> str:
                return f"{log.read_text()[-3000:]}\n{cluster.last_words()}"

            while not (cluster.executors() == 2 and found_in(bootstrap).hits):
                assert run.poll() is None, said()
                assert time.monotonic() < deadline, said()
                time.sleep(POLL_SECONDS)
            for number, sent in enumerate(traffic):
                send(bootstrap, sent)
                if number == 2:
                    await_growth(bootstrap)  # of one query: the others are at work
                    cluster.lose_worker(0)
            deadline = time.monotonic() + TIMEOUT_SECONDS
            while not (found := found_in(bootstrap)).is_all_of(truth):
                assert run.poll() is None, said()
                assert time.monotonic() < deadline, f"{found}\n{said()}"
                time.sleep(POLL_SECONDS)
            assert cluster.executors() == 1
        finally:
            stop(run)
        assert found_in(bootstrap).is_all_of(truth)
        assert Counter(table_addresses(tmp_path / "warehouse" / TABLE)) == truth.hits


def await_growth(bootstrap: str) -> None:
    """Return when one of the queries has come further than it is now."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    before = found_in(bootstrap)
    while found_in(bootstrap) == before:
        assert time.monotonic() < deadline, "none of the queries goes on"


def table_addresses(folder: Path) -> list[str]:
    """The addresses in the table's files."""
    found: list[str] = []
    for file in folder.rglob("*.orc"):
        found += orc.read_table(file, columns=["ip"])["ip"].to_pylist()
    return found
