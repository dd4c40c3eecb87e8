"""The batches of a streaming query over a real broker: where they begin and end, and why."""

from __future__ import annotations

import json
import logging
from typing import Any

import pyarrow as pa
import pytest

from headrace.client.cluster import shared_cluster
from headrace.errors import ConfigError
from headrace.pipelines.source.gaps import DataLost
from headrace.pipelines.source.offsets import Position, position_from_json, position_to_json
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.planning import Planner
from headrace.pipelines.source.reading import read_range
from headrace.testing import VirtualClock
from headrace.types import TopicPartition
from tests.pipelines.source.topics import Topics


class Query:
    """A streaming query without Spark: it asks the planner what Spark would ask, and reads."""

    def __init__(self, options: SourceOptions, checkpoint: Position | None = None) -> None:
        self.options = options
        self.clock = VirtualClock(now_ms=0)
        self.planner = Planner(options, shared_cluster(options.client), self.clock, lambda _: None)
        self.position = checkpoint or self.planner.initial()

    def plan(self, max_rows: int | None = None) -> Position:
        """The end of the next batch; time passes, so that nothing is answered from memory."""
        self.clock.advance(2_000)
        return self.planner.next_end(self.position, max_rows, hold_back=True)

    def run(self, max_rows: int | None = None) -> list[tuple[int, int, bytes]]:
        """One batch: partition, offset and value of its rows. Positions go through JSON."""
        end = _through_json(self.plan(max_rows))
        ranges = self.planner.ranges(self.position, end)
        self.position = end
        tables = [table for each in ranges for table in read_range(self.options, each)]
        return [
            (row["partition"], row["offset"], row["value"])
            for table in tables
            for row in pa.Table.from_batches([table]).to_pylist()
        ]


def _through_json(position: Position) -> Position:
    return position_from_json(json.loads(json.dumps(position_to_json(position))))


def _numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, end)]


def _rows(start: int, end: int, partition: int = 0) -> list[tuple[int, int, bytes]]:
    return [(partition, number, b"%d" % number) for number in range(start, end)]


@pytest.mark.spec("book1:K-10", "book1:K-12")
def test_batches_follow_each_other_without_a_gap(topics: Topics) -> None:
    """Each batch is an explicit range of offsets; a restart goes on at the checkpoint."""
    topic = topics.create()
    topics.produce(topic, _numbers(0, 5))
    query = Query(topics.stream_options(subscribe=topic))
    assert query.run() == _rows(0, 5)
    assert query.plan() is query.position
    topics.produce(topic, _numbers(5, 8))
    restarted = Query(query.options, query.position)
    assert restarted.run() == _rows(5, 8)


def test_a_stream_begins_at_the_end_unless_told(topics: Topics) -> None:
    """startingOffsets: latest by default; by timestamp; refused if it does not cover all."""
    topic = topics.create()
    topics.produce(topic, _numbers(0, 2), timestamp=1_000)
    topics.produce(topic, _numbers(2, 4), timestamp=2_000)

    def first(**options: Any) -> int:
        query = Query(topics.stream_options(subscribe=topic, **options))
        return query.position.offsets[TopicPartition(topic, 0)]

    assert first(startingOffsets="latest") == 4
    assert first(startingTimestamp=1_500) == 2
    assert first(startingOffsetsByTimestamp=json.dumps({topic: {"0": 1_000}})) == 0
    assert first(startingOffsets=json.dumps({topic: {"0": -2}})) == 0
    late = {"startingTimestamp": 3_000}
    assert first(startingOffsetsByTimestampStrategy="latest", **late) == 4
    with pytest.raises(ConfigError, match=r"no record of timestamp 3000.*Strategy=latest"):
        first(**late)
    with pytest.raises(ConfigError, match=f"missing: {topic}-0"):
        first(startingOffsets='{"another":{"0":0}}')
    with pytest.raises(ConfigError, match="another-0, which the query does not read"):
        first(startingOffsets=json.dumps({topic: {"0": 0}, "another": {"0": 0}}))


def test_a_topic_that_is_not_there_is_named(topics: Topics) -> None:
    """With the address, because the cluster may be the wrong one; partitions likewise."""
    with pytest.raises(ConfigError, match=f"nowhere cannot be found at {topics.bootstrap_servers}"):
        Query(topics.stream_options(subscribe="nowhere"))
    topic = topics.create()
    with pytest.raises(ConfigError, match=f"{topic}-7 cannot be found"):
        Query(topics.stream_options(assign=json.dumps({topic: [0, 7]})))


def test_a_limit_is_kept_over_partitions_until_all_is_read(topics: Topics) -> None:
    """maxOffsetsPerTrigger with Trigger.AvailableNow: what came later waits for the next run."""
    topic = topics.create(partitions=2)
    topics.produce(topic, _numbers(0, 30), partition=0)
    topics.produce(topic, _numbers(0, 10), partition=1)
    query = Query(topics.stream_options(subscribe=topic, minOffsetsPerTrigger=30))
    query.planner.aim_at_now()
    topics.produce(topic, _numbers(30, 35), partition=0)
    topics.grow(topic, 3)
    topics.produce(topic, _numbers(0, 3), partition=2)
    assert query.run(max_rows=20) == _rows(0, 15) + _rows(0, 5, partition=1)
    assert query.run(max_rows=20) == _rows(15, 30) + _rows(5, 10, partition=1)
    assert query.plan() is query.position
    next_run = Query(query.options, query.position)
    assert next_run.run() == _rows(30, 35) + _rows(0, 3, partition=2)


def test_a_minimum_holds_a_batch_back(topics: Topics) -> None:
    """minOffsetsPerTrigger with maxTriggerDelay."""
    topic = topics.create()
    topics.produce(topic, _numbers(0, 1))
    options = topics.stream_options(subscribe=topic, minOffsetsPerTrigger=5, maxTriggerDelay="10s")
    query = Query(options)
    assert query.run() == _rows(0, 1)
    topics.produce(topic, _numbers(1, 3))
    assert query.plan() is query.position
    topics.produce(topic, _numbers(3, 6))
    assert query.run() == _rows(1, 6)
    topics.produce(topic, _numbers(6, 7))
    assert query.plan() is query.position
    query.clock.advance(10_000)
    assert query.run() == _rows(6, 7)


def test_new_partitions_and_topics_are_read_from_their_beginning(topics: Topics) -> None:
    """A pattern finds topics that match later; internal topics never match."""
    topic = topics.create()
    query = Query(topics.stream_options(subscribePattern=f"{topic}.*|__.*", minPartitions=1))
    assert query.position.offsets == {TopicPartition(topic, 0): 0}
    topics.grow(topic, 2)
    topics.produce(topic, _numbers(0, 2), partition=1)
    assert query.run() == _rows(0, 2, partition=1)
    topics.create(name=f"{topic}-late")
    topics.produce(f"{topic}-late", _numbers(0, 3))
    assert query.run() == _rows(0, 3)
    assert query.position.topic_ids.keys() == {topic, f"{topic}-late"}


def test_an_open_transaction_ends_the_batch_before_it(topics: Topics) -> None:
    """read_committed: up to the last stable offset; the lag still counts what is behind it."""
    topic = topics.create()
    topics.produce(topic, _numbers(0, 2))
    producer = topics.open_transaction(topic, _numbers(2, 4))
    query = Query(topics.stream_options(subscribe=topic))
    assert query.run() == _rows(0, 2)
    assert query.planner.high_watermarks() == {TopicPartition(topic, 0): 4}
    uncommitted = topics.stream_options(subscribe=topic, kafka_isolation_level="read_uncommitted")
    reader = Query(uncommitted)
    assert reader.run() == _rows(0, 4)
    # A checkpoint inside the open transaction is no loss for a query that waits for its end.
    waiting = Query(topics.stream_options(subscribe=topic), reader.position)
    assert waiting.plan() is waiting.position
    producer.commit_transaction(20)
    assert query.run() == _rows(2, 4)
    assert waiting.run() == []
    assert waiting.position.offsets == query.position.offsets == {TopicPartition(topic, 0): 5}


def test_a_recreated_topic_stops_the_query_or_is_read_from_its_beginning(
    topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    """By the topic's id, even when the new topic is as long as the old one was."""
    topic = topics.create()
    topics.produce(topic, _numbers(0, 3))
    strict = Query(topics.stream_options(subscribe=topic))
    lenient = Query(topics.stream_options(subscribe=topic, failOnDataLoss="false"))
    assert strict.run() == lenient.run() == _rows(0, 3)
    topics.recreate(topic)
    topics.produce(topic, [b"new"] * 3)
    with pytest.raises(DataLost, match=r"deleted and created again.*its id was .*, now it is"):
        strict.run()
    assert lenient.run() == [(0, number, b"new") for number in range(3)]
    assert "deleted and created again" in caplog.text
    assert lenient.plan() is lenient.position


def test_a_deleted_topic_stops_the_query_or_is_left_out(
    topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    """Also when its deletion is noticed between two questions; progress is shown for the rest."""
    kept, gone = topics.create(), topics.create()
    topics.produce(gone, _numbers(0, 3))
    strict = Query(topics.stream_options(subscribe=f"{kept},{gone}"))
    lenient = Query(topics.stream_options(subscribe=f"{kept},{gone}", failOnDataLoss="false"))
    strict.run()
    lenient.run()
    topics.delete(gone)
    topics.produce(kept, _numbers(0, 1))
    with pytest.raises(DataLost, match=f"topic {gone}, partition 0.*was deleted"):
        strict.run()
    lenient.clock.advance(500)
    assert lenient.planner.high_watermarks() == {TopicPartition(kept, 0): 1}
    assert lenient.run() == _rows(0, 1)
    assert lenient.position.offsets == {TopicPartition(kept, 0): 1}
    assert "is not shown in group" not in caplog.text


def test_a_checkpoint_past_the_end_or_of_another_topic_is_told_apart(
    topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    """Each its own message: a log that ends earlier, and a topic that the query does not read."""
    topic, other = topics.create(), topics.create()
    topics.produce(topic, _numbers(0, 3))
    past_end = Position({TopicPartition(topic, 0): 9})
    options = topics.stream_options(subscribe=topic)
    with pytest.raises(
        DataLost, match=r"stands at offset 9, the log ends at 3.*checkpointLocation"
    ):
        Query(options, past_end).run()
    lenient = topics.stream_options(subscribe=topic, failOnDataLoss="false")
    query = Query(lenient, past_end)
    assert query.run() == []
    assert query.position.offsets == {TopicPartition(topic, 0): 3}
    foreign = Position({TopicPartition(other, 0): 0})
    with pytest.raises(DataLost, match=rf"{other}.*does not read it.*subscribe = {topic}"):
        Query(options, foreign).run()
    with caplog.at_level(logging.WARNING):
        assert Query(lenient, foreign).run() == _rows(0, 3)
    assert f"topic {other}, partition 0" in caplog.text


def test_a_new_partition_that_lost_records_is_a_loss(topics: Topics) -> None:
    """Retention took what the query never saw: as in Spark's own connector."""
    topic = topics.create()
    query = Query(topics.stream_options(subscribe=topic))
    lenient = Query(topics.stream_options(subscribe=topic, failOnDataLoss="false"))
    topics.grow(topic, 2)
    topics.produce(topic, _numbers(0, 4), partition=1)
    topics.forget_before(topic, 1, 3)
    with pytest.raises(DataLost, match="partition 1: offsets 0 to 2"):
        query.run()
    assert lenient.run() == _rows(3, 4, partition=1)
    # A batch that is planned again after a restart, when its new topic is gone.
    start, end = Position({}), Position({TopicPartition("gone", 0): 5})
    with pytest.raises(DataLost, match="topic gone, partition 0: offsets 0 to 4"):
        query.planner.ranges(start, end)
    assert lenient.planner.ranges(start, end) == []


def test_an_idle_query_does_not_ask_the_broker_each_time(topics: Topics) -> None:
    """Spark polls a hundred times a second: it is held up, and told of what came just before."""
    topic = topics.create()
    options = topics.stream_options(subscribe=topic)
    clock, pauses = VirtualClock(now_ms=0), list[float]()
    planner = Planner(options, shared_cluster(options.client), clock, pauses.append)
    start = planner.initial()
    assert planner.next_end(start, None, hold_back=True) is start
    assert pauses == []
    topics.produce(topic, _numbers(0, 1))
    clock.advance(15)
    end = planner.next_end(start, None, hold_back=True)
    assert end.offsets == {TopicPartition(topic, 0): 1}
    assert pauses == [pytest.approx(0.025)]
    clock.advance(40)
    assert planner.next_end(end, None, hold_back=True) is end
    assert len(pauses) == 1
    planner.aim_at_now()
    assert planner.next_end(end, None, hold_back=True) is end
    assert len(pauses) == 1, "what is there is known already"
