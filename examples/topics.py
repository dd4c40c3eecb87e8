"""Where the examples find their broker, and the topics that they read.

A pipeline that runs against a broker of its own finds it empty. `provide` makes the topic it reads
and fills it with a sample, once; a topic that is there already is left alone. `headrace run` starts
a broker for pipelines; programs that need no Spark do so with `broker`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

SERVERS_VARIABLE: Final = "HEADRACE_BOOTSTRAP_SERVERS"
TIMEOUT_S: Final = 30.0


class Draft(NamedTuple):
    """A record to be written."""

    value: str | bytes | None
    key: str | bytes | None = None
    timestamp_ms: int = 0  # 0: the time of writing
    partition: int = -1  # -1: the key decides


def servers() -> str:
    """The broker that `headrace run` has named or started."""
    return os.environ.get(SERVERS_VARIABLE, "localhost:9092")


@contextmanager
def broker() -> Iterator[str]:
    """The broker that the environment names, or one that lives as long as the block."""
    named = os.environ.get(SERVERS_VARIABLE)
    if named:
        yield named
        return
    from headrace.cli.run.embedded_broker import EmbeddedBroker

    with TemporaryDirectory() as folder, EmbeddedBroker(Path(folder) / "data") as own:
        os.environ[SERVERS_VARIABLE] = own.bootstrap_servers
        try:
            yield own.bootstrap_servers
        finally:
            del os.environ[SERVERS_VARIABLE]


def provide(
    topic: str,
    sample: Iterable[Draft] = (),
    *,
    partitions: int = 2,
    config: Mapping[str, str] | None = None,
) -> bool:
    """Create the topic and fill it with the sample; false if it was there before.

    Its records are kept for ever: the times of samples are long ago, and a week's retention would
    drop them.
    """
    kept = {"retention.ms": "-1", **(config or {})}
    try:
        create_topic(servers(), topic, partitions=partitions, config=kept)
    except KafkaException as fault:
        if fault.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise
    write(topic, sample)
    return True


def create_topic(
    bootstrap_servers: str,
    topic: str,
    *,
    partitions: int = 1,
    replicas: int = 1,
    config: Mapping[str, str] | None = None,
) -> None:
    """Create a topic that is not there yet."""
    admin: Any = import_module("confluent_kafka.admin")
    client = admin.AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    wanted = admin.NewTopic(topic, partitions, replicas, config=dict(config or {}))
    client.create_topics([wanted])[topic].result(TIMEOUT_S)


def write(topic: str, drafts: Iterable[Draft]) -> None:
    """Write to the broker of the environment."""
    send(servers(), topic, drafts)


def send(
    bootstrap_servers: str,
    topic: str,
    drafts: Iterable[Draft],
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write records and wait until the broker has all of them; keys go where Java sends them."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "partitioner": "murmur2_random",
            **(settings or {}),
        }
    )
    errors: list[str] = []

    def on_delivery(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            errors.append(error.str())

    for value, key, timestamp_ms, partition in drafts:
        produce(
            producer,
            topic=topic,
            value=value,
            key=key,
            partition=partition,
            on_delivery=on_delivery,
            timestamp=timestamp_ms,
        )
    left = producer.flush(TIMEOUT_S)
    producer.close()
    if left or errors:
        raise RuntimeError(
            f"{left + len(errors)} records of {topic} were not taken: {(errors or ['time-out'])[0]}"
        )


def produce(producer: Producer, **record: Any) -> None:
    """Hand a record over; while the producer's queue is full, wait for room in it."""
    while True:
        try:
            producer.produce(**record)
            return
        except BufferError:
            producer.poll(0.1)
