"""A batch read as Spark makes it: a reader, its tasks and their rows."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from headrace.errors import ConfigError
from headrace.pipelines.columns.schema import arrow_schema
from headrace.pipelines.datasource import HeadraceDataSource
from headrace.pipelines.source.filters import EVERYTHING, Condition, narrow
from headrace.pipelines.source.gaps import DataLost
from headrace.pipelines.source.readers import BatchReader
from tests.pipelines.source.topics import Topics


def _schema() -> StructType:
    schema = StructType()
    for name in arrow_schema(headers=False).names:
        schema.add(name, "string")
    return schema


def _rows(reader: BatchReader) -> list[list[tuple[int, int]]]:
    """Partition and offset of the rows of each task, after the reader went to a worker."""
    return _rows_of(reader, reader.partitions())


def _rows_of(reader: BatchReader, planned: Sequence[InputPartition]) -> list[list[tuple[int, int]]]:
    tasks = pickle.loads(pickle.dumps(list(planned)))
    worker = pickle.loads(pickle.dumps(reader))
    return [
        [
            (row["partition"], row["offset"])
            for table in worker.read(task)
            for row in pa.Table.from_batches([table]).to_pylist()
        ]
        for task in tasks
    ]


def _span(partition: int, start: int, end: int) -> list[tuple[int, int]]:
    return [(partition, offset) for offset in range(start, end)]


@pytest.fixture(scope="module")
def topic(topics: Topics) -> str:
    """Two partitions; record n of the second is of second n + 1."""
    name = topics.create(partitions=2)
    topics.produce(name, [b"v"] * 10, partition=0, timestamp=5_000)
    for second in range(20):
        topics.produce(name, [b"v"], partition=1, timestamp=second * 1_000 + 1_000)
    return name


@pytest.mark.spec("book1:K-11")
def test_a_batch_reads_each_partition_in_a_task_of_its_own(topics: Topics, topic: str) -> None:
    """All of it by default, between any two bounds otherwise."""
    assert _rows(BatchReader(topics.batch_options(subscribe=topic))) == [
        _span(0, 0, 10),
        _span(1, 0, 20),
    ]
    bounds = {
        "startingOffsets": json.dumps({topic: {"0": 3, "1": -2}}),
        "endingOffsets": json.dumps({topic: {"0": -1, "1": 4}}),
    }
    assert _rows(BatchReader(topics.batch_options(subscribe=topic, **bounds))) == [
        _span(0, 3, 10),
        _span(1, 0, 4),
    ]
    times = topics.batch_options(subscribe=topic, startingTimestamp=4_500, endingTimestamp=8_000)
    assert _rows(BatchReader(times)) == [_span(0, 0, 10), _span(1, 4, 7)]
    assigned = topics.batch_options(assign=json.dumps({topic: [1]}), minPartitions=2)
    assert _rows(BatchReader(assigned)) == [_span(1, 0, 10), _span(1, 10, 20)]


def test_a_batch_past_the_end_is_a_loss(topics: Topics, topic: str) -> None:
    """Spark's own source waits for such offsets until a time-out; with leave, it ends earlier."""
    ends = {"endingOffsets": json.dumps({topic: {"0": 99, "1": -1}})}
    with pytest.raises(DataLost, match=r"partition 0: offsets 10 to 98.*the log ends at offset 10"):
        BatchReader(topics.batch_options(subscribe=topic, **ends)).partitions()
    lenient = topics.batch_options(subscribe=topic, failOnDataLoss="false", **ends)
    assert _rows(BatchReader(lenient))[0] == _span(0, 0, 10)
    starts = {"startingOffsets": json.dumps({topic: {"0": 11, "1": -2}})}
    with pytest.raises(ConfigError, match=f"{topic}-0 would be read backwards"):
        BatchReader(topics.batch_options(subscribe=topic, **starts)).partitions()


@pytest.mark.parametrize(
    ("conditions", "tasks"),
    [
        (
            [
                Condition("partition", "EqualTo", [1]),
                Condition("offset", "GreaterThanOrEqual", [7]),
                Condition("offset", "LessThan", [9]),
            ],
            [_span(1, 7, 9)],
        ),
        ([Condition("timestamp", "GreaterThanOrEqual", [7_500])], [_span(1, 7, 20)]),
        ([Condition("timestamp", "GreaterThanOrEqual", [1_000_000])], []),
        ([Condition("offset", "GreaterThan", [10])], [_span(1, 11, 20)]),
    ],
)
def test_conditions_narrow_what_is_fetched(
    topics: Topics, topic: str, conditions: list[Condition], tasks: list[list[tuple[int, int]]]
) -> None:
    """Partitions that no row can come from have no task; a time is looked up at the broker."""
    reader = BatchReader(topics.batch_options(subscribe=topic), narrow(conditions))
    assert _rows(reader) == tasks


def test_a_task_without_a_range_reads_nothing(topics: Topics, topic: str) -> None:
    """Spark makes one when there is nothing to read."""
    rows = BatchReader(topics.batch_options(subscribe=topic), EVERYTHING).read(InputPartition(None))
    assert isinstance(rows, Iterator)
    assert list(rows) == []


def test_the_columns_cannot_be_chosen() -> None:
    """As in Spark's own source: a schema of the user's is refused with what to do instead."""
    source = HeadraceDataSource({"subscribe": "orders"})
    with pytest.raises(ConfigError, match=r"schema\(id\).*decode them in the query"):
        source.reader(StructType().add("id", "integer"))


def test_a_plan_that_is_used_again_reads_what_is_there_then(topics: Topics) -> None:
    """Outside of the optimizer rule Spark keeps a plan for every query over a DataFrame."""
    topic = topics.create(partitions=2)
    topics.produce(topic, [b"v"] * 4, partition=0)
    reader = BatchReader(topics.batch_options(subscribe=topic))
    plan = reader.partitions()
    assert _rows_of(reader, plan) == [_span(0, 0, 4)]
    topics.produce(topic, [b"v"] * 2, partition=0)
    topics.produce(topic, [b"v"] * 3, partition=1)
    topics.grow(topic, 3)
    topics.produce(topic, [b"v"], partition=2)
    topics.forget_before(topic, 0, 2)
    assert _rows_of(reader, plan) == [_span(0, 2, 6) + _span(1, 0, 3) + _span(2, 0, 1)]


def test_a_divided_plan_that_is_used_again_has_no_row_twice(topics: Topics) -> None:
    """The offsets between the tasks of a partition stay; its ends are those of the log."""
    topic = topics.create(partitions=1)
    topics.produce(topic, [b"v"] * 9)
    reader = BatchReader(topics.batch_options(subscribe=topic, minPartitions=3))
    plan = reader.partitions()
    assert _rows_of(reader, plan) == [_span(0, 0, 3), _span(0, 3, 6), _span(0, 6, 9)]
    topics.produce(topic, [b"v"] * 2)
    topics.forget_before(topic, 0, 4)
    assert _rows_of(reader, plan) == [[], _span(0, 4, 6), _span(0, 6, 11)]
    topics.recreate(topic, partitions=2)
    topics.produce(topic, [b"v"] * 5, partition=0)
    topics.produce(topic, [b"v"], partition=1)
    assert _rows_of(reader, plan) == [_span(0, 0, 3) + _span(1, 0, 1), _span(0, 3, 5), []]


def test_a_plan_of_topics_that_come_and_go(topics: Topics) -> None:
    """A pattern may match nothing at first; a topic that was named must be there."""
    reader = BatchReader(topics.batch_options(subscribePattern="comes-and-goes-.*"))
    plan = reader.partitions()
    assert _rows_of(reader, plan) == [[]]
    topic = topics.create(name="comes-and-goes-1")
    topics.produce(topic, [b"v"] * 2)
    assert _rows_of(reader, plan) == [_span(0, 0, 2)]
    named = BatchReader(topics.batch_options(subscribe=topic))
    plan_by_name = named.partitions()
    topics.delete(topic)
    assert _rows_of(reader, plan) == [[]]
    with pytest.raises(ConfigError, match=f"{topic} cannot be found"):
        _rows_of(named, plan_by_name)


def test_a_plan_of_one_query_alone_is_fixed(topics: Topics) -> None:
    """What Spark repeats after a failure, it reads again as it was."""
    topic = topics.create()
    topics.produce(topic, [b"v"] * 3)
    reader = BatchReader(topics.batch_options(subscribe=topic), EVERYTHING)
    plan = reader.partitions()
    topics.produce(topic, [b"v"] * 2)
    assert _rows_of(reader, plan) == [_span(0, 0, 3)]
