"""Where the examples find their broker, and the topics that they read.

A pipeline that runs against a broker of its own finds it empty. `provide` makes the topic it reads
and fills it with a sample, once; a topic that is there already is left alone. `headrace run` starts
a broker for pipelines; programs that need no Spark do so with `broker`.

Examples write, so they never take brokers from the environment or from a profile, where a cluster
of other people may be named: it is a broker of their own unless their command line names another.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.cli.run.brokers import Origin
from headrace.errors import HeadraceError
from headrace.pipelines.run_environment import BROKERS_BY, SERVERS
from headrace.runtime.variables import variables_set
from headrace.testing import Broker

TIMEOUT_S: Final = 30.0


class Draft(NamedTuple):
    """A record to be written."""

    value: str | bytes | None
    key: str | bytes | None = None
    timestamp_ms: int = 0  # 0: the time of writing
    partition: int = -1  # -1: the key decides


def servers() -> str:
    """The brokers of `broker` or `headrace run`, if its command line named or started them."""
    named, chosen_by = os.environ.get(SERVERS, ""), os.environ.get(BROKERS_BY, "")
    if chosen_by not in (Origin.OWN, Origin.OPTION):
        found = f" ({named} comes from elsewhere: {chosen_by or 'environment'})" if named else ""
        raise HeadraceError(
            "an example writes to topics, and no brokers were named on its command line"
            f"{found}; give --broker for a broker of its own, or name yours with -b HOST:PORT"
        )
    return named


@contextmanager
def broker(named: str | None = None) -> Iterator[str]:
    """The brokers that the command line named, or one that lives as long as the block."""
    if named is not None:
        with using(named, Origin.OPTION):
            yield named
        return
    with Broker() as own, using(own.bootstrap_servers):
        yield own.bootstrap_servers


def using(bootstrap_servers: str, origin: Origin = Origin.OWN) -> AbstractContextManager[None]:
    """Let `servers` give these for a block; processes that are started in it inherit that."""
    values = {SERVERS: bootstrap_servers, BROKERS_BY: origin.value}
    return variables_set(os.environ, values)


def command_line(description: str | None) -> ArgumentParser:
    """The parser of an example that needs a broker: `-b` names one."""
    parser = ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument(
        "-b",
        "--bootstrap-server",
        "--bootstrap-servers",
        dest="servers",
        metavar="HOST:PORT,…",
        help="brokers to write to; default: one of its own",
    )
    return parser


def named_servers(description: str | None) -> str | None:
    """What the command line of this process names; it takes no other arguments."""
    named: str | None = command_line(description).parse_args().servers
    return named


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
    """Write to the brokers of `servers`."""
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
