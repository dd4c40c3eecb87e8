"""Exactly once: whatever happens to an attempt, a reader of committed records sees a row once."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from headrace.client.cluster import Cluster
from headrace.client.faults import Fenced, UnknownTopic
from headrace.client.group_offsets import committed_offsets, delete_groups
from headrace.client.producing import RawProducer
from headrace.pipelines.sink.faults import NoTransactions, NotRepeated, WrongRow
from headrace.pipelines.sink.identity import TaskIdentity
from headrace.pipelines.sink.options import SinkOptions
from headrace.testing import Broker
from headrace.types import TopicPartition
from tests.pipelines.sink.stage import (
    Killed,
    Query,
    Step,
    batch,
    mortal,
    new_topic,
    numbered,
    sent_at_once,
    three_batches,
    values,
)


@pytest.fixture
def bootstrap(headrace_broker: Broker) -> str:
    return headrace_broker.bootstrap_servers


@pytest.mark.parametrize("step", Step)
def test_an_attempt_may_die_after_any_step(bootstrap: str, step: Step) -> None:
    """Before the commit nothing is visible, after it everything; the next attempt knows which."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)
    query.attempt(6, [batch(300, 5)])
    with pytest.raises(Killed):
        query.attempt(7, three_batches(), producing=mortal(step))
    again = query.attempt(7, three_batches())
    if step is Step.COMMIT:
        assert (again.written.total(), again.skipped_rows) == (0, 300)
    else:
        assert (again.written.total(), again.skipped_rows) == (300, 0)
    assert values(bootstrap, topic) == numbered(305)
    assert query.attempt(7, three_batches()).skipped_rows == 300
    query.attempt(8, [batch(305, 5)])
    assert values(bootstrap, topic) == numbered(310)


def test_an_attempt_that_fails_lets_readers_pass_at_once(bootstrap: str) -> None:
    """The error of a row ends the transaction: what was sent stays invisible, nobody waits."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)

    def failing() -> Iterator[pa.RecordBatch]:
        yield sent_at_once(0, 100)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        query.attempt(0, failing())
    assert values(bootstrap, topic, committed=False) != []
    Query(bootstrap, topic).attempt(0, [batch(300, 10)])
    assert values(bootstrap, topic) == numbered(310)[300:], "an open transaction would hide these"
    query.attempt(0, three_batches())
    assert values(bootstrap, topic) == numbered(310)


@pytest.mark.parametrize("first", [batch(0, 100), sent_at_once(0, 100)], ids=["begun", "sent"])
def test_a_zombie_is_fenced(bootstrap: str, first: pa.RecordBatch) -> None:
    """An attempt that sleeps while the next one does its work can commit nothing afterwards."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)

    def overtaken() -> Iterator[pa.RecordBatch]:
        yield first
        assert query.attempt(3, three_batches()).written.total() == 300
        yield from (batch(100, 100), batch(200, 100))

    with pytest.raises(Fenced, match=r"task 0 of batch 3 .* another attempt at it has begun"):
        query.attempt(3, overtaken())
    assert values(bootstrap, topic) == numbered(300)


def test_an_attempt_that_commits_at_the_last_moment_is_seen(bootstrap: str) -> None:
    """The marker is read after the take-over: before it, it could still change."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)

    class Overtaken(RawProducer):
        def begin(self) -> None:
            query.attempt(3, three_batches())
            super().begin()

    def producing(
        cluster: Cluster, options: SinkOptions, transactional_id: str | None
    ) -> RawProducer:
        return Overtaken(cluster, transactional_id=transactional_id)

    assert query.attempt(3, three_batches(), producing=producing).skipped_rows == 300
    assert values(bootstrap, topic) == numbered(300)


def test_a_zombie_of_an_earlier_batch_disturbs_but_does_not_write(bootstrap: str) -> None:
    """It fences the attempt that is under way, whose repetition goes through."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)
    query.attempt(0, [batch(0, 50)])
    query.attempt(1, [batch(50, 50)])

    def disturbed() -> Iterator[pa.RecordBatch]:
        yield batch(100, 100)
        with pytest.raises(NotRepeated):
            query.attempt(0, [batch(0, 50)])
        yield batch(200, 100)

    with pytest.raises(Fenced):
        query.attempt(2, disturbed())
    query.attempt(2, [batch(100, 100), batch(200, 100)])
    assert values(bootstrap, topic) == numbered(300)


def test_tasks_do_not_meet(bootstrap: str) -> None:
    """Many tasks, more than the topic has partitions, each with a marker of its own."""
    topic = new_topic(bootstrap, partitions=2)
    query = Query(bootstrap, topic)
    for task in (0, 1, 2, 41):
        query.attempt(0, [batch(task * 10, 10)], task=task)
    for task in (0, 1, 2, 41):
        assert query.attempt(0, [batch(task * 10, 10)], task=task).skipped_rows == 10
    assert len(values(bootstrap, topic)) == 40


def test_another_number_of_rows_stops_the_query(bootstrap: str) -> None:
    """A batch that was not repeated identically: neither lost nor doubled in silence."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)
    query.attempt(4, three_batches())
    with pytest.raises(NotRepeated, match="with 300 rows and comes again with 299"):
        query.attempt(4, [batch(0, 299)])
    assert values(bootstrap, topic) == numbered(300)


def test_an_older_checkpoint_stops_the_query(bootstrap: str) -> None:
    """Its batches may have other bounds, so skipping them could lose rows."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)
    for number in range(3):
        query.attempt(number, [batch(number * 10, 10)])
    with pytest.raises(NotRepeated, match=r"batch 0 .* comes after batch 2 of it was written"):
        query.attempt(0, [batch(0, 10)])


def test_a_lost_marker_means_a_repetition(bootstrap: str) -> None:
    """What `offsets.retention.minutes` does to a query that rests too long after a crash."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)
    query.attempt(0, [batch(0, 10)])
    cluster = Cluster(query.options.settings)
    delete_groups(cluster, [TaskIdentity(query.id, 0, 0).name])
    cluster.close()
    assert query.attempt(0, [batch(0, 10)]).written.total() == 10
    assert len(values(bootstrap, topic)) == 20


def test_topics_that_change_from_batch_to_batch(bootstrap: str) -> None:
    """The marker moves with the rows, and the newest counts."""
    first, second = sorted(new_topic(bootstrap) for _ in range(2))
    query = Query(bootstrap, None)

    def rows(topic: str, count: int) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict({"value": numbered(count), "topic": [topic] * count})

    columns = ("value", "topic")
    query.attempt(0, [rows(first, 5), rows(second, 7)], columns=columns)
    query.attempt(1, [rows(second, 9)], columns=columns)
    query.attempt(2, [rows(first, 4)], columns=columns)
    for number, batches in enumerate([[rows(second, 9)], [rows(first, 4)]], start=1):
        if number == 2:
            assert query.attempt(number, batches, columns=columns).skipped_rows == 4
        else:
            with pytest.raises(NotRepeated):
                query.attempt(number, batches, columns=columns)
    assert [len(values(bootstrap, topic)) for topic in (first, second)] == [9, 16]
    cluster = Cluster(query.options.settings)
    markers = committed_offsets(cluster, TaskIdentity(query.id, 0, 0).name)
    cluster.close()
    assert markers == {
        TopicPartition(first, 0): (3, '{"batch": 2, "rows": 4}'),
        TopicPartition(second, 0): (2, '{"batch": 1, "rows": 9}'),
    }


def test_a_task_without_rows_asks_nobody() -> None:
    """Not even a broker: there is none."""
    outcome = Query("127.0.0.1:1", "t").attempt(0, [batch(0, 0)])
    assert (outcome.written.total(), outcome.skipped_rows) == (0, 0)


def test_a_broker_may_be_killed_in_mid_batch() -> None:
    """The attempt rides through: requests are sent again, and none counts twice."""
    with Broker() as broker:
        topic = new_topic(broker.bootstrap_servers)
        query = Query(broker.bootstrap_servers, topic)

        def interrupted() -> Iterator[pa.RecordBatch]:
            yield sent_at_once(0, 100)
            broker.kill()
            broker.start()
            yield batch(100, 200)

        assert query.attempt(0, interrupted()).written.total() == 300
        broker.kill()
        broker.start()
        assert query.attempt(0, three_batches()).skipped_rows == 300
        assert values(broker.bootstrap_servers, topic) == numbered(300)


def test_brokers_that_allow_no_such_transaction_are_told_apart(bootstrap: str) -> None:
    """The message has both ways out."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic, **{"kafka.transaction.timeout.ms": "2000000000"})
    with pytest.raises(NoTransactions, match=r"lower kafka\.transaction\.timeout\.ms"):
        query.attempt(0, three_batches())


def test_rows_that_no_record_can_hold_are_named(bootstrap: str) -> None:
    """Counted through the task; nothing of the attempt is visible."""
    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)
    nameless = pa.array(
        [[{"key": "a", "value": b"1"}], [{"key": None, "value": b"2"}]],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    rows = pa.RecordBatch.from_pydict({"value": pa.array(["x", "y"]), "headers": nameless})
    with pytest.raises(WrongRow, match=r"row 1 has a header without a key.*row 0 is row 0 of this"):
        query.attempt(0, [rows], columns=("value", "headers"))
    large = pa.RecordBatch.from_pydict({"value": pa.array(["x" * (2 << 20)])})
    with pytest.raises(WrongRow, match=r"kafka\.max\.request\.size = 1048576"):
        query.attempt(0, [large], columns=("value",))
    assert values(bootstrap, topic) == []


def test_a_topic_that_nobody_may_create_is_named() -> None:
    """With `auto.create.topics.enable` a sink's topic comes into being, as with any producer."""
    with Broker({"auto.create.topics.enable": "false"}) as broker:
        query = Query(broker.bootstrap_servers, "nowhere", **{"kafka.delivery.timeout.ms": "5000"})
        with pytest.raises(UnknownTopic, match="nowhere"):
            query.attempt(0, three_batches())


def test_a_missing_topic_is_created_where_the_broker_allows_it(bootstrap: str) -> None:
    """As Spark's own sink and every Kafka producer have it."""
    topic = f"{new_topic(bootstrap)}-new"
    Query(bootstrap, topic).attempt(0, three_batches())
    assert values(bootstrap, topic) == numbered(300)
