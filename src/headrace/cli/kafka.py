"""Clients of librdkafka as commands use them, and its errors in words that help.

librdkafka retries in silence until a time-out, so a command first looks whether a broker answers at
all (`reach`), and asks again why when a call has failed. Everything from `confluent_kafka` is
imported inside functions: it costs a tenth of a second that `--help` need not wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from headrace.admin.faults import remedy_of
from headrace.cli.asking import no_such_topic
from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.reach import explain_silence, find_closed, reach
from headrace.cli.target import Address, Target
from headrace.client.faults import error_named
from headrace.errors import Error

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin._metadata import ClusterMetadata, TopicMetadata

TIMEOUT_S: Final = 10.0


def open_consumer(target: Target, settings: dict[str, Any]) -> Consumer:
    """A consumer for `assign`: it never joins its group and never commits."""
    from confluent_kafka import Consumer

    own = {
        "group.id": "headrace-cli",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        # By default a full queue pauses fetching for a whole second.
        "fetch.queue.backoff.ms": 10,
    }
    group = str({**own, **settings, **target.properties}["group.id"])
    if not group.strip() or not group.isprintable():
        # librdkafka cuts such a name down to nothing, and ends the process over it.
        raise WrongUsage(
            f"{group!r} is not a valid group name", "give one with printable characters"
        )
    consumer: Consumer = _open(Consumer, target, own | settings)
    return consumer


def open_producer(target: Target, settings: dict[str, Any]) -> Producer:
    """A producer that sends a key to the same partition as the Java client does."""
    from confluent_kafka import Producer

    own = {"partitioner": "murmur2_random"}
    producer: Producer = _open(Producer, target, own | settings)
    return producer


def _open(kind: Any, target: Target, settings: dict[str, Any]) -> Any:
    reach(target)
    return _make(kind, target, settings)


def _make(kind: Any, target: Target, settings: dict[str, Any]) -> Any:
    from confluent_kafka import KafkaException

    # What librdkafka would log is told by `explain`, once and with a remedy.
    quiet = {"bootstrap.servers": target.servers, "client.id": "headrace-cli", "log_level": 0}
    try:
        return kind(quiet | settings | dict(target.properties))
    except KafkaException as error:
        raise Failure(
            f"the client rejects its settings: {error.args[0].str()}", "correct the -X option"
        ) from None


def check_settings(target: Target) -> None:
    """Fail for a setting that librdkafka does not know."""
    from confluent_kafka import Producer

    _make(Producer, target, {})


@contextmanager
def explained(target: Target, subject: str = "") -> Iterator[None]:
    """Turn the library's exceptions inside the block into failures."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise explain(error.args[0], target, subject) from error


def explain(error: KafkaError, target: Target, subject: str = "") -> Failure:
    """The failure for one error; `subject` is what the command worked on, `topic "orders"`."""
    from confluent_kafka import KafkaError

    silent = (
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._RESOLVE,
    )
    if error.code() in silent:
        reach(target)
        return explain_silence(target, error.str())
    said = error.str().rstrip(".")
    cause = f"{subject}: {said}" if subject else said
    # Negative codes are the library's own; -1 is Kafka's.
    if error.code() >= Error.UNKNOWN_SERVER_ERROR:
        return Failure(cause, remedy_of(error_named(error.code()), said))
    return Failure(cause, _remedies().get(error.code(), f"the client says {error.name()}"))


def _remedies() -> dict[int, str]:
    """What to do about errors that librdkafka finds by itself."""
    from confluent_kafka import KafkaError

    return {
        KafkaError._UNKNOWN_PARTITION: 'see "headrace topic describe NAME" for the partitions',
        KafkaError._UNSUPPORTED_FEATURE: remedy_of(Error.UNSUPPORTED_VERSION),
        KafkaError._AUTHENTICATION: remedy_of(Error.SASL_AUTHENTICATION_FAILED),
        KafkaError._SSL: "check ssl.ca.location given with -X",
    }


def read_metadata(client: Consumer | Producer, target: Target) -> ClusterMetadata:
    """Brokers and topics as the cluster tells them."""
    with explained(target):
        metadata: ClusterMetadata = client.list_topics(timeout=TIMEOUT_S)
        return metadata


def find_topic(metadata: ClusterMetadata, name: str) -> TopicMetadata:
    """The topic, or a failure with the names that look alike."""
    if name in metadata.topics:
        return metadata.topics[name]
    raise no_such_topic(name, metadata.topics)


def find_topics(metadata: ClusterMetadata, names: Iterable[str]) -> list[TopicMetadata]:
    return [find_topic(metadata, name) for name in names]


def require_leaders(metadata: ClusterMetadata, topic: TopicMetadata, target: Target) -> None:
    """Refuse early when a leader's advertised address cannot be reached from here."""
    leaders = {partition.leader for partition in topic.partitions.values()}
    for leader in sorted(leaders & metadata.brokers.keys()):
        broker: Any = metadata.brokers[leader]
        fault = find_closed(target, Address(broker.host, broker.port), leader)
        if fault is not None:
            raise fault
