"""Clients of librdkafka as commands use them, and its errors in words that help.

librdkafka retries in silence until a time-out, so a command first looks whether a broker answers at
all (`reach`), and asks again why when a call has failed. Everything from `confluent_kafka` is
imported inside functions: it costs a tenth of a second that `--help` need not wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from headrace.cli.failures import Failure, WrongUsage, did_you_mean
from headrace.cli.reach import explain_silence, find_closed, reach
from headrace.cli.target import Address, Target

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._metadata import ClusterMetadata, TopicMetadata

TIMEOUT_S: Final = 10.0
_IN_ONE_REQUEST: Final = "create at most 10,000 partitions, and add more with topic alter"
T = TypeVar("T")


def admin_api() -> Any:
    """The module `confluent_kafka.admin`, untyped: its type information hides its public names."""
    return import_module("confluent_kafka.admin")


def open_admin(target: Target) -> AdminClient:
    admin: AdminClient = _open(admin_api().AdminClient, target, {})
    return admin


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
    from confluent_kafka import KafkaException

    reach(target)
    # What librdkafka would log is told by `explain`, once and with a remedy.
    quiet = {"bootstrap.servers": target.servers, "client.id": "headrace-cli", "log_level": 0}
    try:
        return kind(quiet | settings | dict(target.properties))
    except KafkaException as error:
        raise Failure(
            f"the client rejects its settings: {error.args[0].str()}", "correct the -X option"
        ) from None


@contextmanager
def explained(target: Target, subject: str = "") -> Iterator[None]:
    """Turn the library's exceptions inside the block into failures."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        raise explain(error.args[0], target, subject) from error
    except (ValueError, OverflowError) as error:
        # Numbers that no request can hold are rejected by the library, before any broker.
        remedy = _IN_ONE_REQUEST if "replication" not in str(error) else "use fewer replicas"
        raise Failure(f"the client rejects the request ({error})", remedy) from None


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
    remedy = _remedies().get(error.code(), f"the broker says {error.name()}")
    if error.code() == KafkaError.POLICY_VIOLATION and "partition" in said:
        remedy = _IN_ONE_REQUEST
    return Failure(cause, remedy)


def _remedies() -> dict[int, str]:
    from confluent_kafka import KafkaError

    return {
        KafkaError.TOPIC_ALREADY_EXISTS: "add --if-not-exists, or change it with topic alter",
        KafkaError.UNKNOWN_TOPIC_OR_PART: 'see "headrace topic list"',
        KafkaError._UNKNOWN_PARTITION: 'see "headrace topic describe NAME" for the partitions',
        KafkaError.INVALID_CONFIG: 'see "headrace config describe topic NAME --all" for the keys',
        KafkaError.INVALID_PARTITIONS: "partitions can only be added, at least one",
        KafkaError.POLICY_VIOLATION: "ask who set the policy of the brokers",
        KafkaError.INVALID_REPLICATION_FACTOR: "use at most as many replicas as there are brokers",
        KafkaError.TOPIC_EXCEPTION: "use up to 249 letters, digits, dots, underscores and dashes",
        KafkaError.MSG_SIZE_TOO_LARGE: "raise max.message.bytes of the topic",
        KafkaError.UNSUPPORTED_VERSION: 'compare "headrace cluster api-versions"',
        KafkaError._UNSUPPORTED_FEATURE: 'compare "headrace cluster api-versions"',
        KafkaError._AUTHENTICATION: "check sasl.username and sasl.password given with -X",
        KafkaError._SSL: "check ssl.ca.location given with -X",
        KafkaError.TOPIC_AUTHORIZATION_FAILED: "the user needs a permission for this topic",
        KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the user needs a permission for the cluster",
        KafkaError.GROUP_AUTHORIZATION_FAILED: "the user needs a permission for this group",
        KafkaError.GROUP_ID_NOT_FOUND: 'see "headrace group list"',
        KafkaError.NON_EMPTY_GROUP: "stop its members first",
        KafkaError.UNKNOWN_MEMBER_ID: "a member has joined in the meantime; stop it first",
        KafkaError.INVALID_TRANSACTION_TIMEOUT: "lower -X transaction.timeout.ms",
    }


def settle(
    futures: dict[Any, Future[T]], target: Target, what: str
) -> tuple[dict[str, T], list[Failure]]:
    """Wait for one call per name; what failed does not keep the rest from being told."""
    done: dict[str, T] = {}
    failures = []
    for key, future in futures.items():
        name = str(getattr(key, "name", key))
        try:
            with explained(target, f'{what} "{name}"'):
                done[name] = future.result(timeout=TIMEOUT_S * 2)
        except Failure as failure:
            failures.append(failure)
    return done, failures


def raise_all(failures: list[Failure]) -> None:
    """End the command with everything that failed in one line."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise Failure(" | ".join(map(str, failures)))


def read_metadata(client: AdminClient | Consumer | Producer, target: Target) -> ClusterMetadata:
    """Brokers and topics as the cluster tells them."""
    with explained(target):
        return client.list_topics(timeout=TIMEOUT_S)


def find_topic(metadata: ClusterMetadata, name: str) -> TopicMetadata:
    """The topic, or a failure with the names that look alike."""
    if name in metadata.topics:
        return metadata.topics[name]
    guess = did_you_mean(name, metadata.topics)
    hint = guess or f'create it with "headrace topic create {name}"'
    raise Failure(f'there is no topic "{name}"', hint)


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
