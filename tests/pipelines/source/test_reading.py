"""One range of offsets as rows, from a real broker: all of them, in order, and nothing else."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

from headrace.client.cluster import Cluster
from headrace.pipelines.columns.schema import arrow_schema
from headrace.pipelines.source.gaps import DataLost
from headrace.pipelines.source.options import SourceOptions
from headrace.pipelines.source.reading import read_range
from headrace.pipelines.source.split import OffsetRange
from headrace.testing import Broker
from tests.clients.contract import eventually
from tests.pipelines.source.topics import Topics


def _values(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def _rows(options: SourceOptions, wanted: OffsetRange) -> list[dict[str, Any]]:
    tables = list(read_range(options, wanted))
    assert all(table.num_rows for table in tables)
    schema = arrow_schema(headers=options.include_headers)
    rows: list[dict[str, Any]] = pa.Table.from_batches(tables, schema=schema).to_pylist()
    return rows


def _read(
    topics: Topics, topic: str, start: int, end: int, **options: Any
) -> list[tuple[int, bytes]]:
    rows = _rows(
        topics.batch_options(subscribe=topic, **options), OffsetRange(topic, 0, start, end)
    )
    return [(row["offset"], row["value"]) for row in rows]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_gives_the_same_rows(topics: Topics, codec: str) -> None:
    """Many batches and several fetches; a range that begins and ends inside a batch."""
    topic = topics.create()
    values = [b"%d" % number * 50 for number in range(3_000)]
    config = {"compression.type": codec, "batch.num.messages": 500}
    topics.produce(topic, values, config=config)
    expected = list(enumerate(values))[7:2_993]
    assert _read(topics, topic, 7, 2_993, kafka_max_partition_fetch_bytes=20_000) == expected


def test_a_row_has_the_columns_of_sparks_kafka_format(topics: Topics) -> None:
    """Nulls stay nulls; headers come when they are asked for, and null if there are none."""
    topic = topics.create()
    headers = [("a", b"1"), ("a", None)]
    topics.produce(topic, [b"v"], key=b"k", headers=headers, timestamp=1_700_000_000_123)
    topics.produce(topic, [None], timestamp=1_700_000_000_124)
    options = topics.batch_options(subscribe=topic, includeHeaders="true")
    first, second = _rows(options, OffsetRange(topic, 0, 0, 2))
    assert first["timestamp"].timestamp() == pytest.approx(1_700_000_000.123)
    assert {name: value for name, value in first.items() if name != "timestamp"} == {
        "key": b"k",
        "value": b"v",
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestampType": 0,
        "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}],
    }
    assert (second["key"], second["value"], second["headers"]) == (None, None, None)


@pytest.mark.spec("admin:TX-04", "admin:TX-05", "book2:O-11")
def test_only_committed_records_are_read_unless_asked(
    topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    """Markers never surface; what was left out is accounted for in the log."""
    topic = topics.create()
    topics.produce(topic, [b"a"])
    topics.transaction(topic, [b"gone", b"gone"], commit=False)
    topics.transaction(topic, [b"b"], commit=True)
    with caplog.at_level(logging.INFO):
        assert _read(topics, topic, 0, 6) == [(0, b"a"), (4, b"b")]
    assert "2 of aborted transactions, 2 transaction markers hold no row" in caplog.text
    everything = _read(topics, topic, 0, 6, kafka_isolation_level="read_uncommitted")
    assert everything == [(0, b"a"), (1, b"gone"), (2, b"gone"), (4, b"b")]
    # Nothing but a marker, and nothing but aborted records: no rows, and an end to it.
    assert _read(topics, topic, 3, 4) == []
    assert _read(topics, topic, 1, 3) == []


def test_retention_stops_a_read_or_is_said(
    topics: Topics, caplog: pytest.LogCaptureFixture
) -> None:
    """failOnDataLoss names what is lost; without it the read goes on where the log begins."""
    topic = topics.create()
    topics.produce(topic, _values(10))
    topics.forget_before(topic, 0, 6)
    with pytest.raises(DataLost, match=f"topic {topic}, partition 0: offsets 2 to 5") as lost:
        _read(topics, topic, 2, 10)
    assert "begins at offset 6" in str(lost.value)
    assert "failOnDataLoss=false" in str(lost.value)
    rest = _read(topics, topic, 2, 10, failOnDataLoss="false")
    assert rest == list(enumerate(_values(10)))[6:]
    assert f"{topic}, partition 0: offsets 2 to 5 (4 in all)" in caplog.text
    assert _read(topics, topic, 2, 5, failOnDataLoss="false") == []


def test_offsets_past_the_end_stop_a_read_or_are_said(topics: Topics) -> None:
    """A log that was cut, or a position of another topic."""
    topic = topics.create()
    topics.produce(topic, _values(3))
    with pytest.raises(DataLost, match=r"offsets 5 to 6.*the log ends at offset 3"):
        _read(topics, topic, 5, 7)
    assert _read(topics, topic, 5, 7, failOnDataLoss="false") == []


def test_a_recreated_topic_is_never_taken_for_the_old_one(topics: Topics) -> None:
    """KIP-516: the range names the topic's id; other records under the same name are not it."""
    topic = topics.create()
    topics.produce(topic, _values(3))
    options = topics.batch_options(subscribe=topic)
    lives = []
    for _ in range(2):
        # What the worker remembers of the first life must not keep it from reading the second.
        with closing(Cluster(options.client)) as cluster:
            lives.append(cluster.topics([topic])[topic].topic_id)
        assert len(_rows(options, OffsetRange(topic, 0, 0, 3, lives[-1]))) == 3
        topics.recreate(topic)
        topics.produce(topic, [b"new"] * 3)
    wanted = OffsetRange(topic, 0, 0, 3, lives[-1])
    with pytest.raises(DataLost, match="deleted and created again"):
        _rows(options, wanted)
    assert _rows(topics.batch_options(subscribe=topic, failOnDataLoss="false"), wanted) == []
    topics.delete(topic)
    with pytest.raises(DataLost, match="topic or partition was deleted"):
        _rows(options, wanted)


def test_a_read_goes_on_through_a_restart_of_the_broker() -> None:
    """A connection that is lost is opened again, in the middle of a range."""
    with Broker() as broker:
        topics = Topics(broker.bootstrap_servers)
        topic = topics.create()
        values = [b"%d" % number * 100 for number in range(2_000)]
        topics.produce(topic, values, config={"batch.num.messages": 100})
        options = topics.batch_options(subscribe=topic, kafka_max_partition_fetch_bytes=50_000)
        tables = read_range(options, OffsetRange(topic, 0, 0, 2_000))
        read = next(tables)["value"].to_pylist()
        broker.kill()
        broker.start()
        for table in tables:
            read += table["value"].to_pylist()
        assert read == values


def test_a_reader_that_stops_early_leaves_the_connection_usable(topics: Topics) -> None:
    """`limit 1`: the fetch that is under way for the rest is nobody's, and disturbs nobody."""
    topic = topics.create()
    values = [b"%d" % number * 100 for number in range(2_000)]
    topics.produce(topic, values, config={"batch.num.messages": 100})
    options = topics.batch_options(subscribe=topic, kafka_max_partition_fetch_bytes=50_000)
    for _ in range(3):
        tables = read_range(options, OffsetRange(topic, 0, 0, 2_000))
        assert next(tables)["value"][0].as_py() == values[0]
        tables.close()  # type: ignore[attr-defined]
    assert len(_rows(options, OffsetRange(topic, 0, 0, 2_000))) == 2_000


def test_a_compacted_log_has_gaps_that_are_no_loss(caplog: pytest.LogCaptureFixture) -> None:
    """Offsets that compaction emptied are passed over and counted, at both ends of a range too."""
    day_ms = 86_400_000
    with Broker({"log.cleaner.backoff.ms": "50"}) as broker:
        topics = Topics(broker.bootstrap_servers)
        compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        topic = topics.create(config=compacted | {"segment.ms": "3600000"})
        for number, key in enumerate([b"a", b"b", b"a", b"b", b"b", b"c"]):
            timestamp = 1_700_000_000_000 + number * day_ms
            topics.produce(topic, [b"%d" % number], key=key, timestamp=timestamp)

        def left() -> list[int]:
            return [offset for offset, _ in _read(topics, topic, 0, 6)]

        eventually(lambda: left() == [2, 4, 5], "the cleaner to be through")
        caplog.clear()
        with caplog.at_level(logging.INFO):
            assert _read(topics, topic, 0, 4) == [(2, b"2")]
        assert "3 removed by compaction" in caplog.text
