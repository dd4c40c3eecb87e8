"""The same protocol against Apache Kafka itself: nothing in it relies on a broker of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from headrace.client.faults import Fenced
from tests.kafka.apache_kafka import ApacheKafka
from tests.pipelines.sink.stage import (
    Killed,
    Query,
    Step,
    batch,
    mortal,
    new_topic,
    numbered,
    three_batches,
    values,
)


@pytest.mark.slow
def test_each_row_once_on_apache_kafka(kafka_broker: Callable[..., ApacheKafka]) -> None:
    """Deaths after every step, a zombie, and a task whose number no partition has."""
    bootstrap = kafka_broker().bootstrap_servers
    for step in Step:
        topic = new_topic(bootstrap)
        query = Query(bootstrap, topic)
        with pytest.raises(Killed):
            query.attempt(7, three_batches(), task=41, producing=mortal(step))
        query.attempt(7, three_batches(), task=41)
        assert query.attempt(7, three_batches(), task=41).skipped_rows == 300
        assert values(bootstrap, topic) == numbered(300)

    topic = new_topic(bootstrap)
    query = Query(bootstrap, topic)

    def overtaken() -> Iterator[pa.RecordBatch]:
        yield batch(0, 100)
        query.attempt(3, three_batches())
        yield batch(100, 200)

    with pytest.raises(Fenced):
        query.attempt(3, overtaken())
    assert values(bootstrap, topic) == numbered(300)
