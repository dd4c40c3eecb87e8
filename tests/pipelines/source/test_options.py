"""What a query may say about its source, and what is said about the rest."""

from __future__ import annotations

import pickle

import pytest

from headrace.errors import ConfigError
from headrace.pipelines.columns.schema import SCHEMA, SCHEMA_WITH_HEADERS
from headrace.pipelines.source.offsets import (
    EARLIEST,
    FROM_EARLIEST,
    FROM_LATEST,
    LATEST,
    OffsetBound,
    TimeBound,
)
from headrace.pipelines.source.options import (
    SourceOptions,
    batch_options,
    check_early,
    stream_options,
)
from headrace.pipelines.source.subscription import Assignment, TopicNames, TopicPattern
from headrace.types import TopicPartition

ORDERS = {"subscribe": "orders"}


def test_a_name_is_enough() -> None:
    """A batch reads everything, a stream what comes; both read committed records only."""
    batch, stream = batch_options(ORDERS), stream_options(ORDERS)
    assert (batch.starting, batch.ending) == (FROM_EARLIEST, FROM_LATEST)
    assert stream.starting == FROM_LATEST
    for options in (batch, stream):
        assert options.read_committed
        assert options.fail_on_data_loss
        assert options.commit_offsets
        assert not options.include_headers
        assert options.remarks == ()
        assert options.client.bootstrap_servers == (("localhost", 9092),)


def test_every_option_of_sparks_kafka_format_is_taken() -> None:
    """In any case, as Spark compares the names of options; the result travels to workers."""
    options = stream_options(
        {
            "KAFKA.bootstrap.servers": "a:1,b:2",
            "SubscribePattern": " orders-.* ",
            "startingOffsets": "earliest",
            "startingOffsetsByTimestampStrategy": "LATEST",
            "MAXOFFSETSPERTRIGGER": "1000",
            "minOffsetsPerTrigger": "10",
            "maxTriggerDelay": "2m",
            "minPartitions": "7",
            "maxRecordsPerPartition": "100",
            "failOnDataLoss": "False",
            "includeHeaders": "TRUE",
            "groupIdPrefix": "mine",
            "kafka.isolation.level": "read_uncommitted",
            "kafka.group.id": "g",
            "kafka.max.partition.fetch.bytes": "1048576",
            "kafka.fetch.max.wait.ms": "100",
            "kafka.max.poll.records": "50000",
            "kafka.session.timeout.ms": "10",
            "kafkaConsumer.pollTimeoutMs": "512",
            "fetchOffset.numRetries": "5",
            "fetchOffset.retryIntervalMs": "0",
            "commitOffsets": "false",
        }
    )
    assert options == SourceOptions(
        client=options.client,
        subscription=TopicPattern("orders-.*"),
        starting=FROM_EARLIEST,
        latest_if_no_start=True,
        max_offsets_per_trigger=1000,
        min_offsets_per_trigger=10,
        max_trigger_delay_ms=120_000,
        min_partitions=7,
        max_records_per_partition=100,
        fail_on_data_loss=False,
        include_headers=True,
        read_committed=False,
        group_id="g",
        group_id_prefix="mine",
        commit_offsets=False,
        retries=5,
        retry_interval_ms=0,
        max_fetch_bytes=1 << 20,
        max_wait_ms=100,
        remarks=("option groupIdPrefix has no effect beside kafka.group.id",),
    )
    assert options.client.bootstrap_servers == (("a", 1), ("b", 2))
    assert pickle.loads(pickle.dumps(options)) == options


def test_the_address_comes_from_the_option_then_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pipeline without any address finds the broker that `headrace run` has started."""
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", "127.0.0.1:1234")
    assert batch_options(ORDERS).client.bootstrap_servers == (("127.0.0.1", 1234),)
    given = batch_options(ORDERS | {"kafka.bootstrap.servers": "a:1"})
    assert given.client.bootstrap_servers == (("a", 1),)


def test_three_ways_to_say_what_to_read() -> None:
    """Names between commas, a pattern, or partitions one by one."""
    assert batch_options({"subscribe": " a, b ,"}).subscription == TopicNames(frozenset("ab"))
    assert batch_options({"subscribePattern": "a.*"}).subscription == TopicPattern("a.*")
    assigned = batch_options({"assign": '{"a":[0,2]}'}).subscription
    assert assigned == Assignment(frozenset({TopicPartition("a", 0), TopicPartition("a", 2)}))


def test_a_pattern_is_for_the_whole_name() -> None:
    """As Java's `matches`: `orders` does not match `orders-old`."""
    pattern = TopicPattern("orders|pay.*")
    assert pattern.covers(TopicPartition("orders", 0))
    assert pattern.covers(TopicPartition("payments", 0))
    assert not pattern.covers(TopicPartition("orders-old", 0))
    assert not pattern.covers(TopicPartition("my-orders", 0))


def test_where_to_begin_and_end() -> None:
    """One timestamp wins over timestamps per partition, these over offsets, as in Spark."""
    per_partition = '{"orders":{"0":23,"1":-2}}'
    options = batch_options(
        ORDERS | {"startingOffsets": per_partition, "endingOffsets": '{"orders":{"0":50,"1":-1}}'}
    )
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    assert options.starting == OffsetBound(each={first: 23, second: EARLIEST})
    assert options.ending == OffsetBound(each={first: 50, second: LATEST})
    timed = ORDERS | {"startingOffsets": "earliest", "startingOffsetsByTimestamp": '{"a":{"0":9}}'}
    assert batch_options(timed).starting == TimeBound(each={TopicPartition("a", 0): 9})
    timed["startingTimestamp"] = "1700000000000"
    assert batch_options(timed).starting == TimeBound(1_700_000_000_000)
    assert batch_options(ORDERS | {"endingTimestamp": "5"}).ending == TimeBound(5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ("exactly one", "subscribe, subscribePattern, assign", "none")),
        ({"subscribe": "a", "assign": "{}"}, ("exactly one", "given: subscribe, assign")),
        ({"subscribe": " , "}, ("subscribe", "names no topic")),
        ({"subscribePattern": "a["}, ("subscribePattern", "'a['", "regular expression")),
        ({"assign": "[1]"}, ("assign", "[1]", '{"orders":[0,1]')),
        ({"assign": "{}"}, ("assign", "names no partition")),
        ({"assign": '{"a":[-1]}'}, ("assign", "expected e.g.")),
        (ORDERS | {"startingOffsets": "first"}, ("startingOffsets", "'first'", "expected e.g.")),
        (ORDERS | {"startingOffsets": '{"a":{"x":1}}'}, ("startingOffsets", "expected e.g.")),
        (ORDERS | {"startingOffsets": '{"a":{"0":true}}'}, ("startingOffsets", "expected e.g.")),
        (ORDERS | {"startingOffsets": '{"a":{"0":-3}}'}, ("offset -3", "a-0", "-2 for earliest")),
        (ORDERS | {"startingTimestamp": "noon"}, ("startingTimestamp", "'noon'", "whole number")),
        (
            ORDERS | {"startingOffsetsByTimestamp": '{"a":{"0":-1}}'},
            ("startingOffsetsByTimestamp", "a-0", "milliseconds since 1970"),
        ),
        (
            ORDERS | {"startingOffsetsByTimestampStrategy": "first"},
            ("startingOffsetsByTimestampStrategy", "'first'", "error, latest"),
        ),
        (ORDERS | {"minPartitions": "0"}, ("minPartitions", "'0'", "1 or more")),
        (ORDERS | {"maxRecordsPerPartition": "-1"}, ("maxRecordsPerPartition", "1 or more")),
        (ORDERS | {"maxOffsetsPerTrigger": "ten"}, ("maxOffsetsPerTrigger", "'ten'")),
        (
            ORDERS | {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            ("minOffsetsPerTrigger (9)", "maxOffsetsPerTrigger (8)"),
        ),
        (ORDERS | {"maxTriggerDelay": "soon"}, ("maxTriggerDelay", "'soon'", "15m")),
        (ORDERS | {"failOnDataLoss": "yes"}, ("failOnDataLoss", "'yes'", "true, false")),
        (ORDERS | {"kafka.isolation.level": "x"}, ("kafka.isolation.level", "read_committed")),
        (ORDERS | {"kafka.auto.offset.reset": "latest"}, ("auto.offset.reset", "startingOffsets")),
        (ORDERS | {"kafka.enable.auto.commit": "true"}, ("enable.auto.commit", "commitOffsets")),
        (ORDERS | {"kafka.key.deserializer": "x"}, ("key.deserializer", "decode")),
        (ORDERS | {"kafka.interceptor.classes": "x"}, ("interceptor.classes",)),
        (ORDERS | {"kafka.bootstrap.servers": "a:b:c"}, ("bootstrap.servers",)),
    ],
)
def test_a_wrong_option_is_named_with_its_value_and_what_is_right(
    options: dict[str, str], words: tuple[str, ...]
) -> None:
    """Refused before anything is read."""
    for read in (batch_options, stream_options):
        with pytest.raises(ConfigError) as refused:
            read(options)
        assert [word for word in words if word not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"startingOffsets": "latest"}, ("startingOffsets", "latest")),
        ({"startingOffsets": '{"a":{"0":-1}}'}, ("startingOffsets", "latest")),
        ({"endingOffsets": "earliest"}, ("endingOffsets", "earliest")),
        ({"endingOffsets": '{"a":{"0":-2}}'}, ("endingOffsets", "earliest")),
        (
            {"startingOffsets": '{"a":{"0":9}}', "endingOffsets": '{"a":{"0":8}}'},
            ("a-0", "backwards", "9", "8"),
        ),
        (
            {"startingOffsets": '{"a":{"0":9}}', "endingOffsets": '{"b":{"0":9}}'},
            ("same partitions", "a-0, b-0"),
        ),
    ],
)
def test_a_batch_must_be_able_to_hold_something(
    options: dict[str, str], words: tuple[str, ...]
) -> None:
    """It cannot begin at the end, end at the beginning, or run backwards."""
    with pytest.raises(ConfigError) as refused:
        batch_options(ORDERS | options)
    assert [word for word in words if word not in str(refused.value)] == []


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    """Spark's own source refuses it too."""
    with pytest.raises(ConfigError, match=f"{name} is for batch reads"):
        stream_options(ORDERS | {name: "latest"})


def test_what_looks_like_a_slip_is_remarked() -> None:
    """An option that Spark passes on for others stays unremarked, a near miss does not."""
    options = batch_options(
        ORDERS
        | {
            "startingOfsets": "earliest",
            "mergeSchema": "true",
            "maxOffsetsPerTrigger": "5",
            "kafka.compresion": "x",
        }
    )
    assert options.remarks == (
        "option startingofsets is unknown: did you mean startingOffsets?",
        "option kafka.compresion is unknown and has no effect",
        "option maxOffsetsPerTrigger has no effect in a batch read",
    )


def test_the_schema_is_known_and_options_are_checked_at_load() -> None:
    """`load()` fails on a bad option; options that are a sink's are none of its business."""
    assert check_early(ORDERS) == SCHEMA
    assert check_early({"topic": "orders"}) == SCHEMA
    assert check_early(ORDERS | {"includeHeaders": "true"}) == SCHEMA_WITH_HEADERS
    with pytest.raises(ConfigError, match="minPartitions"):
        check_early(ORDERS | {"minPartitions": "x"})
