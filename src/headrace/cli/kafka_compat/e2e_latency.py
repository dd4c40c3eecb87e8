"""`kafka-e2e-latency`: how long one record takes from a producer through the broker to a consumer.

One at a time: a record is sent, acknowledged and read before the next. The arguments of old, by
place, are taken as well as the flags.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from headrace.cli import asking
from headrace.cli.failures import Failure
from headrace.cli.kafka import TIMEOUT_S, explained, read_metadata
from headrace.cli.kafka import open_consumer as open_client_consumer
from headrace.cli.kafka import open_producer as open_client_producer
from headrace.cli.kafka_compat.administering import Told, need
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.tool import Tool, Work, left_to_main, only_usage, read_flags
from headrace.cli.small_files import read_properties

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

    from headrace.cli.target import Target

_REQUIRED: Final = (
    "--bootstrap-server",
    "--topic",
    "--num-records",
    "--producer-acks",
    "--record-size",
)
_BY_PLACE: Final = (
    "WARNING: Positional argument usage is deprecated and will be removed in Apache Kafka 5.0. "
    f"Please use named arguments instead: {', '.join(_REQUIRED)}, --command-config"
)
_POLL_TIMEOUT_MS: Final = 60_000
_PROGRESS: Final = 1_000


class Shape(NamedTuple):
    """What each record looks like."""

    value_size: int
    key_size: int
    headers: int
    header_key_size: int
    header_size: int


def _plan(given: Given) -> Work:
    need(given, *_REQUIRED)
    count, shape = _checked(given)
    config = given.text("--command-config")
    settings = read_properties(config) if config else {}
    target = kafka_target(given.needed("--bootstrap-server"), settings)
    topic, acks = given.needed("--topic"), given.needed("--producer-acks")
    return lambda: _measure(target, topic, count, shape, acks)


def _read(tool: Tool, words: list[str]) -> Given | None:
    return read_flags(tool, _with_flags(words))


def _with_flags(words: list[str]) -> list[str]:
    """Arguments by place, as they were before there were flags."""
    if not words or words[0].startswith("-"):
        return words
    if len(words) not in (5, 6):
        raise Told(
            "Invalid number of arguments. Expected 5 or 6 positional arguments, but got "
            f"{len(words)}. Usage: bootstrap-server topic num-records producer-acks record-size "
            "[optional] command-config"
        )
    print(_BY_PLACE, flush=True)
    flags = (*_REQUIRED, "--command-config")
    return [word for pair in zip(flags, words, strict=False) for word in pair]


def _checked(given: Given) -> tuple[int, Shape]:
    if given.text("--producer-acks") not in ("1", "all"):
        raise Told(
            "Invalid value for --producer-acks. Latency testing requires synchronous "
            "acknowledgement. Please use '1' or 'all'."
        )
    count = given.number("--num-records")
    if count is None or count <= 0:
        raise Told("Value for --num-records must be a positive integer.")
    shape = Shape(
        _size(given, "--record-size"),
        _size(given, "--record-key-size"),
        _size(given, "--num-headers"),
        _size(given, "--record-header-key-size"),
        given.number("--record-header-size") or 0,
    )
    if shape.header_size < -1:
        raise Told(
            "Value for --record-header-size must be a non-negative integer or -1 for null header "
            "value."
        )
    return count, shape


def _size(given: Given, flag: str) -> int:
    number = given.number(flag) or 0
    if number < 0:
        raise Told(f"Value for {flag} must be a non-negative integer.")
    return number


def _measure(target: Target, topic: str, count: int, shape: Shape, acks: str) -> None:
    consumer = open_client_consumer(
        target,
        {
            "group.id": f"test-group-{time.time_ns() // 1_000_000}",
            "enable.partition.eof": False,
            "fetch.wait.max.ms": 0,
        },
    )
    producer = open_client_producer(target, {"linger.ms": 0, "acks": acks})
    try:
        _assign_ends(consumer, target, topic)
        draw = random.Random(0)
        elapsed_ns = []
        for number in range(count):
            elapsed_ns.append(_round_trip(producer, consumer, topic, shape, draw, target))
            if number % _PROGRESS == 0:
                print(f"{number}\t{elapsed_ns[-1] / 1e6}", flush=True)
        _print_results(elapsed_ns)
    finally:
        consumer.close()


def _assign_ends(consumer: Consumer, target: Target, topic: str) -> None:
    from confluent_kafka import TopicPartition

    if topic not in read_metadata(consumer, target).topics:
        print(
            f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and '
            "replication factor = 1",
            flush=True,
        )
        client = asking.connect(target, is_strict=False)
        with client as admin, asking.explained(f'topic "{topic}"'):
            admin.create(topic, 1, 1)
    partitions = read_metadata(consumer, target).topics[topic].partitions
    ends = [TopicPartition(topic, number) for number in sorted(partitions)]
    with explained(target, f'topic "{topic}"'):
        for end in ends:
            end.offset = consumer.get_watermark_offsets(end, timeout=TIMEOUT_S)[1]
    consumer.assign(ends)


def _round_trip(
    producer: Producer,
    consumer: Consumer,
    topic: str,
    shape: Shape,
    draw: random.Random,
    target: Target,
) -> int:
    value = _letters(draw, shape.value_size)
    key = _letters(draw, shape.key_size) if shape.key_size else None
    headers: list[tuple[str, str | bytes | None]] = [
        (
            _letters(draw, shape.header_key_size).decode(),
            None if shape.header_size == -1 else _letters(draw, shape.header_size),
        )
        for _ in range(shape.headers)
    ]
    failures: list[Any] = []
    began_ns = time.perf_counter_ns()
    producer.produce(
        topic,
        value,
        key,
        headers=headers or None,
        on_delivery=lambda error, _: failures.append(error) if error else None,
    )
    producer.flush(_POLL_TIMEOUT_MS / 1000)
    message = consumer.poll(_POLL_TIMEOUT_MS / 1000)
    elapsed_ns = time.perf_counter_ns() - began_ns
    if failures:
        raise Failure(f"topic {topic!r}: {failures[0].str()}")
    if message is None:
        raise Failure(f"poll() timed out before finding a result (timeout:[{_POLL_TIMEOUT_MS}ms])")
    if (error := message.error()) is not None:
        raise Failure(f"topic {topic!r}: {error.str()}")
    if message.value() != value or message.key() != key:
        raise Failure("The message read did not match the message sent")
    return elapsed_ns


def _letters(draw: random.Random, size: int) -> bytes:
    """As many of one letter, drawn anew each time."""
    return bytes([draw.randrange(26) + 65]) * size


def _print_results(elapsed_ns: list[int]) -> None:
    print(f"Avg latency: {sum(elapsed_ns) / len(elapsed_ns) / 1e6:.4f} ms")
    ordered = sorted(each // 1_000_000 for each in elapsed_ns)
    p50, p99, p999 = (ordered[int(len(ordered) * part)] for part in (0.5, 0.99, 0.999))
    print(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")


run: Final = Tool(
    "kafka-e2e-latency",
    flags(
        *(f"{flag}=" for flag in _REQUIRED),
        "--record-key-size= --record-header-key-size= --record-header-size= --num-headers= "
        "--command-config=",
    ),
    "--bootstrap-server localhost:9092 --topic orders --num-records 10000 "
    "--producer-acks 1 --record-size 100",
    _plan,
    refused=only_usage,
    failed=left_to_main,
    read=_read,
)
