"""IP fraud record at a time: every record is acknowledged, fraud goes to a topic and to Hive.

    headrace run --broker examples.ip_fraud.on_storm:pipeline \\
        --set spark.sql.catalogImplementation=hive
    python -m examples.ip_fraud.on_storm iptopology.properties [TOPOLOGY-NAME]

    KafkaSpout ── frauddetect ──┬── KafkaOutputBolt ─────────────── topic fraudip
      iprecord                  └── HiveOutputBolt ── HiveBolt ──── table fraud_ip

With a name the topology runs as on a cluster, with three workers that share the partitions; without
one it runs here, under the name KafkaLocal. A record counts as done when both ends have it; until
then a restart brings it again, so both ends get every fraud record at least once.
"""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaError, Producer

from examples.ip_fraud.hive_table import HiveTable, RowTable
from examples.ip_fraud.properties import FOLDER, load_properties, require
from examples.ip_fraud.rules import CacheIPLookup, FraudRow, IPScanner, fraud_row, is_fraud
from examples.ip_fraud.traffic import Plan, batches
from examples.storm.cluster import Cluster, LocalCluster, after
from examples.storm.kafka_spout import KafkaSpout, SpoutConfig
from examples.storm.topology import Bolt, Topology, Tuple
from examples.topics import Draft, broker, command_line, provide, servers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGGER = logging.getLogger(__name__)
LOCAL_NAME: Final = "KafkaLocal"
LOCAL_RUN_S: Final = 10.0
KEYS: Final = (
    "zkhost",
    "inputTopic",
    "outputTopic",
    "KafkaBroker",
    "consumerGroup",
    "metaStoreURI",
    "dbName",
    "tblName",
)
SAMPLE: Final = Plan(seed=7, ticks=50, begin_ms=1_078_786_800_000)


@dataclass(frozen=True, slots=True)
class HiveOptions:
    """How rows are gathered before they are written."""

    txns_per_batch: int = 250
    batch_size: int = 2
    idle_timeout_s: float = 10.0
    call_timeout_ms: int = 10_000_000
    monotonic: Callable[[], float] = time.monotonic

    @property
    def rows_per_write(self) -> int:
        return self.txns_per_batch * self.batch_size


class FraudDetectorBolt(Bolt):
    """Passes fraud records on, and acknowledges all of them."""

    fields = ("fraudip",)

    def __init__(self, scanner: IPScanner) -> None:
        self._scanner = scanner

    def execute(self, taken: Tuple) -> None:
        record = taken.values[0]
        if is_fraud(record, self._scanner):
            self.collector.emit((record,), taken)
        self.collector.ack(taken)


class IPFraudHiveBolt(Bolt):
    """The columns of the table; a record that is cut short has none and is said in the log."""

    fields = FraudRow._fields

    def execute(self, taken: Tuple) -> None:
        row = fraud_row(taken.value("fraudip"))
        if row is None:
            LOGGER.warning("no row for the table: %r has too few columns", taken.value("fraudip"))
        else:
            self.collector.emit(row, taken)
        self.collector.ack(taken)


class IPFraudKafkaBolt(Bolt):
    """Writes the whole record to a topic; acknowledged when the broker has it."""

    def __init__(self, settings: Mapping[str, Any], topic: str) -> None:
        self._settings = dict(settings)
        self._topic = topic

    def prepare(self, collector: Any) -> None:
        super().prepare(collector)
        self._producer = Producer(self._settings)

    def execute(self, taken: Tuple) -> None:
        def on_delivery(error: KafkaError | None, _message: object) -> None:
            if error is None:
                self.collector.ack(taken)
            else:
                self.collector.fail(taken)

        self._producer.produce(self._topic, taken.value("fraudip"), on_delivery=on_delivery)
        self._producer.poll(0)

    def tick(self) -> None:
        self._producer.poll(0)

    def cleanup(self) -> None:
        self._producer.flush(30)
        self._producer.close()


class HiveBolt(Bolt):
    """Adds rows to the table, many at a time; acknowledged when the table has them."""

    def __init__(self, table: RowTable, options: HiveOptions) -> None:
        self._table = table
        self._options = options
        self._pending: list[Tuple] = []
        self._since = 0.0

    def execute(self, taken: Tuple) -> None:
        if not self._pending:
            self._since = self._options.monotonic()
        self._pending.append(taken)
        if len(self._pending) >= self._options.rows_per_write:
            self._write()

    def tick(self) -> None:
        waited = self._options.monotonic() - self._since
        if self._pending and waited >= self._options.idle_timeout_s:
            self._write()

    def cleanup(self) -> None:
        if self._pending:
            self._write()

    def _write(self) -> None:
        self._table.append([FraudRow(*taken.values) for taken in self._pending])
        for taken in self._pending:
            self.collector.ack(taken)
        self._pending.clear()


def build_topology(
    properties: Mapping[str, str],
    table: RowTable,
    options: HiveOptions,
    scanner: IPScanner | None = None,
    spout_settings: Mapping[str, Any] | None = None,
) -> Topology:
    """The graph above. Everything is dealt out evenly: no bolt keeps state by key."""
    source = SpoutConfig(
        servers=properties["KafkaBroker"],
        topic=properties["inputTopic"],
        group=properties["consumerGroup"],
        settings=dict(spout_settings or {}),
    )
    producer = {"bootstrap.servers": properties["KafkaBroker"]}
    topic = properties["outputTopic"]
    lookup = scanner or CacheIPLookup()
    topology = Topology()
    topology.set_spout("KafkaSpout", lambda: KafkaSpout(source))
    topology.set_bolt("frauddetect", lambda: FraudDetectorBolt(lookup)).shuffle_grouping(
        "KafkaSpout"
    )
    topology.set_bolt(
        "KafkaOutputBolt", lambda: IPFraudKafkaBolt(producer, topic)
    ).shuffle_grouping("frauddetect")
    topology.set_bolt("HiveOutputBolt", IPFraudHiveBolt).shuffle_grouping("frauddetect")
    topology.set_bolt("HiveBolt", lambda: HiveBolt(table, options)).shuffle_grouping(
        "HiveOutputBolt"
    )
    return topology


def topology_settings(file: str) -> dict[str, str]:
    """All eight keys; the broker that is named or started goes before the file's."""
    properties = load_properties(FOLDER / file)
    require(properties, KEYS, file)
    return properties


def cluster_for(name: str | None) -> LocalCluster | Cluster:
    """With a name the topology is one of a cluster's."""
    return LocalCluster() if name is None else Cluster()


def pipeline(spark: SparkSession) -> None:
    """A local run of ten seconds over the topic, or over a sample."""
    properties = topology_settings("iptopology.properties") | {"KafkaBroker": servers()}
    table = run(spark, properties, None, after(LOCAL_RUN_S), HiveOptions(idle_timeout_s=2.0))
    print(f"{table.name} has {spark.table(table.name).count()} rows")


def run(
    spark: SparkSession,
    properties: Mapping[str, str],
    name: str | None,
    stop: Callable[[], bool],
    options: HiveOptions,
) -> HiveTable:
    """Make topics and table, run the topology until told to stop; returns the table."""
    sample = (Draft(request.text) for batch in batches(SAMPLE) for request in batch.requests)
    provide(properties["inputTopic"], sample, partitions=3)
    provide(properties["outputTopic"])
    table = HiveTable(spark, properties["dbName"], properties["tblName"])
    table.create()
    topology = build_topology(properties, table, options)
    cluster_for(name).run(name or LOCAL_NAME, topology, stop)
    return table


def main(arguments: list[str]) -> None:
    from headrace.pipelines import session

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    parser = command_line(__doc__)
    parser.add_argument("file", metavar="PROPERTIES-FILE")
    parser.add_argument("name", metavar="TOPOLOGY-NAME", nargs="?")
    asked = parser.parse_args(arguments)
    file = asked.file
    properties = topology_settings(str(Path.cwd() / file) if Path(file).exists() else file)
    stopped: list[int] = []
    with broker(asked.servers) as address:
        spark = session("ip-fraud", config={"spark.sql.catalogImplementation": "hive"})
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _frame: stopped.append(number))
        run(
            spark,
            properties | {"KafkaBroker": address},
            asked.name,
            lambda: bool(stopped),
            HiveOptions(),
        )
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
