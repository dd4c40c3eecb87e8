"""The writers as Spark uses them: made beside the driver, pickled, run in workers, committed."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql.types import StringType, StructField, StructType

from headrace.errors import ConfigError
from headrace.pipelines.sink.faults import NoTransactions, WrongColumns
from headrace.pipelines.sink.identity import SparkTask
from headrace.pipelines.sink.options import sink_options
from headrace.pipelines.sink.writer import (
    BatchWriter,
    StreamWriter,
    TaskWritten,
    batch_writer,
    stream_writer,
)
from headrace.testing import Broker
from tests.pipelines.sink.stage import new_topic, numbered, three_batches, values

SCHEMA = StructType([StructField("key", StringType()), StructField("value", StringType())])


def groups(broker: Broker) -> set[str]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    listed = admin.list_consumer_groups(request_timeout=10).result(20)
    return {group.group_id for group in listed.valid}


def test_a_query_is_judged_before_it_starts() -> None:
    """Columns, options and modes, without a broker."""
    with pytest.raises(WrongColumns, match="give the option 'topic'"):
        stream_writer({}, SCHEMA, False)
    with pytest.raises(ConfigError, match="mode overwrite is not possible"):
        batch_writer({"topic": "t"}, SCHEMA, True)
    with pytest.raises(ConfigError, match="writeName = 'x' is for writes inside foreachBatch"):
        stream_writer({"topic": "t", "writeName": "x"}, SCHEMA, False)
    for made in (
        stream_writer({"topic": "t"}, SCHEMA, True),
        batch_writer({"topic": "t"}, SCHEMA, False),
    ):
        assert type(pickle.loads(pickle.dumps(made))) is type(made)


def test_a_batch_write_is_repeated_by_its_tasks_and_leaves_no_group(
    headrace_broker: Broker,
) -> None:
    """A task run twice writes once; two writes are two."""
    topic = new_topic(headrace_broker.bootstrap_servers)
    options = sink_options(
        {"kafka.bootstrap.servers": headrace_broker.bootstrap_servers, "topic": topic}
    )
    for number in (1, 2):
        writer = BatchWriter(
            options, ("key", "value"), f"write-{number}", lambda: SparkTask(5, 0, None, None)
        )
        first = writer.write(three_batches())
        again = writer.write(three_batches())
        assert first.written == Counter(first.written)
        assert (first.rows, first.skipped) == (300, False)
        assert (again.rows, again.skipped, again.written) == (300, True, {})
        name = f"headrace-sink-write-{number}-5"
        assert (first.partition, first.group) == (5, name)
        assert pickle.loads(pickle.dumps(first)) == first
        assert name in groups(headrace_broker)
        writer.commit([again])
        assert name not in groups(headrace_broker)
    assert values(headrace_broker.bootstrap_servers, topic) == sorted(numbered(300) * 2)


def test_a_named_write_belongs_to_the_batch_around_it(headrace_broker: Broker) -> None:
    """Inside foreachBatch: once per query, batch and name; the marker stays after the commit."""
    topic = new_topic(headrace_broker.bootstrap_servers)
    given = {"kafka.bootstrap.servers": headrace_broker.bootstrap_servers, "topic": topic}
    outcomes: list[TaskWritten] = []
    for name in ("good", "bad", "good"):
        options = sink_options({**given, "writeName": name})
        writer = BatchWriter(
            options, ("key", "value"), "unused", lambda: SparkTask(0, 0, f"query-{topic}", 9)
        )
        outcomes.append(writer.write(three_batches()))
        writer.commit([outcomes[-1]])
    assert [outcome.skipped for outcome in outcomes] == [False, False, True]
    outside = BatchWriter(
        sink_options({**given, "writeName": "x"}),
        ("key", "value"),
        "unused",
        lambda: SparkTask(0, 0, None, None),
    )
    with pytest.raises(NoTransactions, match="Spark names no streaming query"):
        outside.write(three_batches())
    assert len(values(headrace_broker.bootstrap_servers, topic)) == 600


def test_a_stream_writes_by_query_and_batch(headrace_broker: Broker) -> None:
    """The same batch of the same query is written once; commit and abort may come twice."""
    topic = new_topic(headrace_broker.bootstrap_servers)
    given = {"kafka.bootstrap.servers": headrace_broker.bootstrap_servers, "topic": topic}

    def write(query: str, batch_id: int) -> TaskWritten:
        writer = StreamWriter(
            sink_options(given), ("key", "value"), lambda: SparkTask(0, 0, query, batch_id)
        )
        done = writer.write(three_batches())
        for _ in range(2):
            writer.commit([done, None], batch_id)
            writer.abort([done, None], batch_id)
        return done

    one, other = f"one-{topic}", f"other-{topic}"
    skipped = [write(*run).skipped for run in [(one, 0), (one, 0), (one, 1), (other, 0)]]
    assert skipped == [False, True, False, False]
    assert len(values(headrace_broker.bootstrap_servers, topic)) == 900
