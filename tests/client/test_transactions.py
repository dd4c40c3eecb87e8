"""Transactions of the raw producer, in both versions of the protocol (KIP-98, KIP-890)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from headrace.client.cluster import Cluster
from headrace.client.faults import BrokerRefused, TimedOut, UnknownTopic
from headrace.client.fetching import FetchedSlice, PartitionFetcher
from headrace.client.group_offsets import committed_offsets
from headrace.client.offsets import LATEST, list_offsets
from headrace.client.producing import Fenced, RawProducer
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition
from tests.client.batches import batches_of, payload, values_of
from tests.clients.producer.gateway import Api, Gateway, Loss, gateway

Opened = Callable[..., Cluster]


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def between(request: pytest.FixtureRequest, bootstrap: str) -> Iterator[Gateway]:
    """The broker as a cluster of this `transaction.version` shows itself."""
    with gateway(bootstrap, feature_levels={"transaction.version": request.param}) as passing:
        yield passing


@pytest.fixture
def cluster(between: Gateway, open_cluster: Opened) -> Cluster:
    return open_cluster(between.bootstrap)


def stable_values(cluster: Cluster, topic: str, partition: int = 0) -> list[bytes]:
    """What a reader of committed records sees once all that was sent is decided."""
    place = TopicPartition(topic, partition)
    end = list_offsets(cluster, {place: LATEST}, read_committed=False)[place].offset
    fetcher = PartitionFetcher(cluster, topic, partition, read_committed=True, max_wait_ms=10)
    values: list[bytes] = []
    offset = 0
    while offset < end:
        fetched = fetcher.fetch(offset)
        for header, view in batches_of(fetched):
            if not is_aborted(fetched, header.producer_id, header.base_offset, header.is_control):
                values += values_of([(header, view)])
            offset = header.next_offset
    return values


def is_aborted(fetched: FetchedSlice, producer_id: int, offset: int, is_control: bool) -> bool:
    """Whether the batch lies between the start of an aborted transaction and its marker."""
    if is_control:
        return False
    markers = [
        header.base_offset
        for header, _ in batches_of(fetched)
        if header.is_control and header.producer_id == producer_id
    ]
    return any(
        aborted.producer_id == producer_id
        and aborted.first_offset
        <= offset
        < min(marker for marker in markers if marker > aborted.first_offset)
        for aborted in fetched.aborted
    )


def test_commit_and_abort(cluster: Cluster, new_topic: Callable[..., str], fresh_name: str) -> None:
    """Only what was committed is seen, over several partitions and transactions."""
    topic = new_topic(partitions=2)
    producer = RawProducer(cluster, transactional_id=fresh_name)
    for number in range(8):
        producer.begin()
        for partition in range(2):
            producer.send(topic, partition, payload([b"%d" % number] * 3))
            producer.send(topic, partition, payload([b"%d" % number]))
        (producer.abort if number % 3 == 1 else producer.commit)()
    expected = [b"%d" % number for number in range(8) if number % 3 != 1 for _ in range(4)]
    assert stable_values(cluster, topic, 0) == expected
    assert stable_values(cluster, topic, 1) == expected


def test_the_version_decides_who_tells_the_coordinator(
    between: Gateway, cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """v1: the producer adds partitions and groups. v2: brokers do, and every end is a new epoch."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    for _ in range(2):
        producer.begin()
        producer.send(topic, 0, payload([b"x"]))
        producer.send(topic, 0, payload([b"x"]))
        producer.send_offsets(fresh_name, {TopicPartition(topic, 0): (1, "")})
        producer.commit()
    added = len(between.of(Api.ADD_PARTITIONS_TO_TXN)), len(between.of(Api.ADD_OFFSETS_TO_TXN))
    epochs = [seen.message.producer_epoch for seen in between.of(Api.END_TXN)]
    versions = {
        "produce": {seen.version for seen in between.of(Api.PRODUCE)},
        "end": {seen.version for seen in between.of(Api.END_TXN)},
        "offsets": {seen.version for seen in between.of(Api.TXN_OFFSET_COMMIT)},
    }
    if cluster.any_broker().features["transaction.version"] == 1:
        assert min(added) >= 2  # once for each transaction, and again while the last one ends
        assert epochs[0] == epochs[1]
        assert versions == {"produce": {11}, "end": {4}, "offsets": {4}}
    else:
        assert added == (0, 0)
        assert epochs[1] == epochs[0] + 1
        assert versions == {"produce": {13}, "end": {5}, "offsets": {5}}


def test_offsets_count_with_the_transaction(cluster: Cluster, topic: str, fresh_name: str) -> None:
    """With or without records; an abort takes them back."""
    place = TopicPartition(topic, 0)
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    producer.send_offsets(fresh_name, {place: (1, "one")})
    producer.commit()
    first = committed_offsets(cluster, fresh_name, require_stable=True, partitions=[place])
    assert first == {place: (1, "one")}
    producer.begin()
    producer.send(topic, 0, payload([b"x"]))
    producer.send_offsets(fresh_name, {place: (2, "two")})
    producer.abort()
    assert committed_offsets(cluster, fresh_name, require_stable=True) == {place: (1, "one")}
    producer.begin()
    producer.send_offsets(fresh_name, {})
    producer.commit()


def test_whoever_begins_sees_what_was_committed_before(
    open_cluster: Opened, between: Gateway, cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """An end is decided before the next beginning: the marker of a batch is never missed."""
    place = TopicPartition(topic, 0)
    for number in range(10):
        producer = RawProducer(open_cluster(between.bootstrap), transactional_id=fresh_name)
        producer.begin()
        before = committed_offsets(cluster, fresh_name, require_stable=True)
        assert before == ({place: (number, "")} if number else {})
        producer.send(topic, 0, payload([b"x"]))
        producer.send_offsets(fresh_name, {place: (number + 1, "")})
        producer.commit()


def test_offsets_of_a_place_that_is_not_there(
    cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """A mistake is told at once, not after the time-out."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    with pytest.raises(UnknownTopic, match="offsets of no-such-topic-0"):
        producer.send_offsets(fresh_name, {TopicPartition("no-such-topic", 0): (1, "")})
    producer.abort()


def test_a_second_producer_fences_the_first(
    open_cluster: Opened, between: Gateway, cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """KIP-98: what the zombie wrote is aborted, and it can neither write nor commit."""
    zombie = RawProducer(cluster, transactional_id=fresh_name)
    zombie.begin()
    zombie.send(topic, 0, payload([b"zombie"]))
    zombie.flush()
    successor = RawProducer(open_cluster(between.bootstrap), transactional_id=fresh_name)
    successor.begin()
    zombie.send(topic, 0, payload([b"more"]))
    with pytest.raises(Fenced, match="Another producer has begun"):
        zombie.commit()
    with pytest.raises(HeadraceError, match="was fenced"):
        zombie.begin()
    zombie.abort()
    successor.send(topic, 0, payload([b"successor"]))
    successor.commit()
    assert stable_values(cluster, topic) == [b"successor"]


def test_a_second_producer_waits_for_the_end_of_the_first(
    open_cluster: Opened, between: Gateway, cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """CONCURRENT_TRANSACTIONS passes: beginning and beginning again never fails."""
    for number in range(5):
        producer = RawProducer(open_cluster(between.bootstrap), transactional_id=fresh_name)
        producer.begin()
        producer.send(topic, 0, payload([b"%d" % number]))
        if number % 2 == 0:
            producer.commit()
    assert stable_values(cluster, topic) == [b"0", b"2", b"4"]


@pytest.mark.parametrize("losses", [[Loss.ANSWER], [Loss.REQUEST, Loss.ANSWER]], ids=str)
@pytest.mark.parametrize("commits", [True, False])
def test_an_end_without_an_answer_is_asked_for_again(
    between: Gateway,
    cluster: Cluster,
    topic: str,
    fresh_name: str,
    losses: list[Loss],
    commits: bool,
) -> None:
    """The coordinator's decision stands; repeating it is answered like the first time."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    for number in range(2):
        producer.begin()
        producer.send(topic, 0, payload([b"%d" % number]))
        producer.flush()
        between.fail_next(*losses, api=Api.END_TXN)
        (producer.commit if commits else producer.abort)()
    assert stable_values(cluster, topic) == ([b"0", b"1"] if commits else [])


@pytest.mark.parametrize("api", [Api.INIT_PRODUCER_ID, Api.TXN_OFFSET_COMMIT, Api.PRODUCE])
@pytest.mark.parametrize("loss", list(Loss))
def test_every_step_survives_a_lost_connection(
    between: Gateway, cluster: Cluster, topic: str, fresh_name: str, api: Api, loss: Loss
) -> None:
    """Each is asked for again, and the transaction is whole."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    between.fail_next(loss, api=api)
    place = TopicPartition(topic, 0)
    producer.begin()
    for number in range(3):
        producer.send(topic, 0, payload([b"%d" % number]))
    producer.send_offsets(fresh_name, {place: (3, "")})
    producer.commit()
    assert stable_values(cluster, topic) == [b"0", b"1", b"2"]
    after = committed_offsets(cluster, fresh_name, require_stable=True, partitions=[place])
    assert after == {place: (3, "")}


def test_an_outcome_that_is_not_known_is_told_as_such(
    open_cluster: Opened, between: Gateway, topic: str, fresh_name: str
) -> None:
    """A commit whose answer never comes: neither success nor failure is claimed."""
    hasty = open_cluster(between.bootstrap, default_api_timeout_ms="300")
    producer = RawProducer(hasty, transactional_id=fresh_name)
    producer.begin()
    producer.send(topic, 0, payload([b"x"]))
    producer.flush()
    between.fail_next(*[Loss.ANSWER] * 100, api=Api.END_TXN)
    with pytest.raises(TimedOut, match="Whether the transaction is committed is not known"):
        producer.commit()


def test_after_a_failure_the_transaction_is_aborted_and_the_next_is_whole(
    between: Gateway, cluster: Cluster, new_topic: Callable[..., str], fresh_name: str
) -> None:
    """A refused batch leaves a hole in its sequence; the next epoch has none."""
    topic = new_topic(config={"max.message.bytes": "2000"})
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    producer.send(topic, 0, payload([b"never"]))
    producer.send(topic, 0, payload([b"x" * 5000]))
    with pytest.raises(BrokerRefused, match="MESSAGE_TOO_LARGE"):
        producer.commit()
    with pytest.raises(HeadraceError, match="abort first"):
        producer.begin()
    producer.abort()
    for value in (b"a", b"b"):
        producer.begin()
        producer.send(topic, 0, payload([value]))
        producer.commit()
    assert stable_values(cluster, topic) == [b"a", b"b"]


def test_an_abortable_error_says_what_to_do(
    between: Gateway, cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """KIP-890: TRANSACTION_ABORTABLE."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    between.fail_next(Error.TRANSACTION_ABORTABLE)
    producer.send(topic, 0, payload([b"x"]))
    with pytest.raises(BrokerRefused, match="abort the transaction and do its work again"):
        producer.commit()
    producer.abort()


def test_closing_gives_an_open_transaction_up(
    cluster: Cluster, topic: str, fresh_name: str
) -> None:
    """Nobody waits for its time-out to read on."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    producer.begin()
    producer.send(topic, 0, payload([b"x"]))
    producer.close()
    assert stable_values(cluster, topic) == []


def test_steps_out_of_order_are_refused(cluster: Cluster, topic: str, fresh_name: str) -> None:
    """Before `begin`, and `begin` twice; an empty transaction costs nothing."""
    producer = RawProducer(cluster, transactional_id=fresh_name)
    with pytest.raises(HeadraceError, match="cannot send: the producer has not begun"):
        producer.send(topic, 0, payload([b"x"]))
    with pytest.raises(HeadraceError, match="cannot commit: the producer has not begun"):
        producer.commit()
    producer.begin()
    with pytest.raises(HeadraceError, match="cannot begin a transaction: the producer is open"):
        producer.begin()
    producer.commit()
    producer.begin()
    producer.abort()


def test_a_timeout_above_the_brokers_limit(cluster: Cluster, fresh_name: str) -> None:
    """transaction.max.timeout.ms is 15 minutes."""
    producer = RawProducer(
        cluster, transactional_id=fresh_name, transaction_timeout_ms=24 * 3600 * 1000
    )
    with pytest.raises(BrokerRefused, match=r"INVALID_TRANSACTION_TIMEOUT; ask for less"):
        producer.begin()
