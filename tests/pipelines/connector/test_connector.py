"""The source beside Spark's own Kafka connector: same options, same rows, same order, same schema.

The jar is PySpark's missing part, fetched from Maven; both read ten topics of our broker and of
Apache Kafka.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pytest

from headrace.testing import Broker
from tests.clients.records import FIRST_TIMESTAMP_MS
from tests.kafka.toolchain import need
from tests.pipelines.connector.comparison import (
    OURS,
    SPARKS,
    first_difference,
    read_batch,
    read_stream,
)
from tests.pipelines.connector.jars import connector_jars
from tests.pipelines.connector.topics import BROKER_PROPERTIES, TOPICS, create_topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka.apache_kafka import ApacheKafka

# The first test starts Spark, and on the first run ever fetches jars and compiles the kernels.
pytestmark = pytest.mark.timeout(600)

Kind = Literal["headrace", "kafka"]
KINDS: tuple[Kind, ...] = ("headrace", "kafka")
ALL = {"subscribe": ",".join(TOPICS), "startingOffsets": "earliest"}
COMMITTED = {"kafka.isolation.level": "read_committed"}
UNCOMMITTED = {"kafka.isolation.level": "read_uncommitted"}
ROWS_PER_TRIGGER = 1_500
SECONDS = 1_000


@pytest.fixture(scope="module", autouse=True)
def _jars() -> None:
    if not connector_jars():
        need("mvn")


@pytest.fixture(scope="module")
def filled(kafka_broker: Callable[..., ApacheKafka]) -> Iterator[Callable[[Kind], str]]:
    """The address of a broker of a kind with the ten topics; it is filled when asked for first."""
    running: dict[Kind, str] = {}
    with contextlib.ExitStack() as brokers:

        def address(kind: Kind) -> str:
            if kind not in running:
                if kind == "kafka":
                    running[kind] = kafka_broker(BROKER_PROPERTIES).bootstrap_servers
                else:
                    ours = brokers.enter_context(Broker(BROKER_PROPERTIES))
                    running[kind] = ours.bootstrap_servers
                create_topics(running[kind])
            return running[kind]

        yield address


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_same_rows_in_a_batch(
    spark: SparkSession, filled: Callable[[Kind], str], kind: Kind
) -> None:
    """Ten topics, read at once: each row of each partition, headers and all, in the same order."""
    options = {"kafka.bootstrap.servers": filled(kind), **ALL, "includeHeaders": "true"}
    sparks = read_batch(spark, SPARKS, {**options, **COMMITTED})
    ours = read_batch(spark, OURS, options)
    assert first_difference(ours, sparks) is None
    _check_that_it_is_hard(ours)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_same_rows_in_a_stream(
    spark: SparkSession, filled: Callable[[Kind], str], kind: Kind, tmp_path: Path
) -> None:
    """The same in batches of limited size up to what is there now, and both end at one place."""
    options = {"kafka.bootstrap.servers": filled(kind), **ALL}
    options |= {"includeHeaders": "true", "maxOffsetsPerTrigger": str(ROWS_PER_TRIGGER)}
    sparks = read_stream(spark, SPARKS, {**options, **COMMITTED}, str(tmp_path / "sparks"))
    ours = read_stream(spark, OURS, options, str(tmp_path / "ours"))
    assert first_difference(ours.rows, sparks.rows) is None
    assert ours.end == sparks.end
    assert ours.batches == sparks.batches
    assert len(ours.batches) > 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"subscribe": "transactions", **UNCOMMITTED},
        {"subscribePattern": "shapes.*|trimmed", "minPartitions": "11", **COMMITTED},
        {"assign": '{"sparse": [7, 0], "shapes": [1]}', **COMMITTED},
        {
            "subscribe": "shapes",
            "startingOffsets": '{"shapes": {"0": 17, "1": -2, "2": 100}}',
            "endingOffsets": '{"shapes": {"0": 60, "1": 99, "2": -1}}',
            **COMMITTED,
        },
        {
            "subscribe": "shapes,sparse",
            "startingTimestamp": str(FIRST_TIMESTAMP_MS + 101 * SECONDS),
            "endingTimestamp": str(FIRST_TIMESTAMP_MS + 250 * SECONDS),
            "startingOffsetsByTimestampStrategy": "latest",
            **COMMITTED,
        },
        {
            "subscribe": "times-snappy,mixed-codecs",
            "maxRecordsPerPartition": "70",
            "includeHeaders": "true",
            **COMMITTED,
        },
    ],
    ids=lambda options: next(iter(options)) + "-" + str(len(options)),
)
def test_same_rows_with_the_same_options(
    spark: SparkSession, filled: Callable[[Kind], str], options: Mapping[str, Any]
) -> None:
    """Ways to choose topics, places and splits mean what they mean to Spark's connector."""
    options = {"kafka.bootstrap.servers": filled("headrace"), **options}
    ours, sparks = (read_batch(spark, connector, options) for connector in (OURS, SPARKS))
    assert first_difference(ours, sparks) is None
    assert ours.num_rows > 0


@pytest.mark.parametrize("headers", ["true", "false"])
def test_same_schema(spark: SparkSession, filled: Callable[[Kind], str], headers: str) -> None:
    """Names, types and nullability are those of Spark's source, in batches and in streams."""
    options = {"kafka.bootstrap.servers": filled("headrace"), **ALL, "includeHeaders": headers}
    for reader in (spark.read, spark.readStream):
        ours, sparks = (
            reader.format(name).options(**options).load().schema for name in (OURS, SPARKS)
        )
        assert ours == sparks


def _check_that_it_is_hard(rows: pa.Table) -> None:
    """What the topics are made for is in them: otherwise the comparison would prove little."""
    counts = Counter(rows["topic"].to_pylist())
    assert counts.keys() == TOPICS.keys()
    offsets = {
        name: rows.filter(pa.compute.equal(rows["topic"], name))["offset"].to_pylist()
        for name in ("compacted", "transactions", "trimmed")
    }
    assert max(offsets["compacted"]) >= 200 > counts["compacted"]
    assert counts["transactions"] < len(set(range(max(offsets["transactions"])))) * 3
    assert min(offsets["trimmed"]) == 0
    assert set(rows["timestampType"].to_pylist()) == {0, 1}
    for column in ("key", "digest"):
        assert rows[column].null_count > 0
