"""What readers see of transactions, with each isolation.level."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.testing import Broker
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.clients.raw import Connection, batch_headers
from tests.clients.requests import create_topic
from tests.clients.transactions.application import (
    COMMITTED,
    TIMEOUT_SECONDS,
    UNCOMMITTED,
    produce,
    transactional,
    visible,
)

NewTopic = Callable[..., str]


@pytest.mark.spec("book2:O-11", "book2:O-12", "admin:TX-05", "slides:E10")
def test_what_each_level_shows(bootstrap: str, topic: str, transactional_id: str) -> None:
    """Committed readers get plain and committed records, the others everything, in its order."""
    plain = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    produce(plain, topic, "plain-1")
    producer = transactional(bootstrap, transactional_id)
    for value, end in (
        ("aborted", producer.abort_transaction),
        ("committed", producer.commit_transaction),
    ):
        producer.begin_transaction()
        produce(producer, topic, value)
        end(TIMEOUT_SECONDS)
    produce(plain, topic, "plain-2")
    assert visible(bootstrap, topic, COMMITTED) == ["plain-1", "committed", "plain-2"]
    everything = ["plain-1", "aborted", "committed", "plain-2"]
    assert visible(bootstrap, topic, UNCOMMITTED) == everything


@pytest.mark.spec("book2:O-11", "book2:O-12")
def test_only_committed_readers_wait_for_a_transaction(
    bootstrap: str, topic: str, transactional_id: str
) -> None:
    """Nothing behind the first record of an open transaction is shown, plain records included."""
    plain = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer = transactional(bootstrap, transactional_id)
    produce(plain, topic, "before")
    producer.begin_transaction()
    produce(producer, topic, "open")
    produce(plain, topic, "behind")
    assert visible(bootstrap, topic, COMMITTED) == ["before"]
    assert visible(bootstrap, topic, UNCOMMITTED) == ["before", "open", "behind"]
    producer.commit_transaction(TIMEOUT_SECONDS)
    assert visible(bootstrap, topic, COMMITTED) == ["before", "open", "behind"]


@pytest.mark.spec("slides:E13", "slides:E06", "admin:TX-04")
@pytest.mark.parametrize("commits", [True, False], ids=["commit", "abort"])
def test_debit_and_credit(
    bootstrap: str, new_topic: NewTopic, transactional_id: str, commits: bool
) -> None:
    """Both sides of a transfer are seen or neither is, though they are in different topics."""
    debits, credits_ = new_topic(), new_topic(partitions=3)
    producer = transactional(bootstrap, transactional_id)
    producer.begin_transaction()
    produce(producer, debits, "debit 100 from A")
    produce(producer, credits_, "credit 100 to B", partition=2)
    assert visible(bootstrap, debits) == visible(bootstrap, credits_) == []
    if commits:
        producer.commit_transaction(TIMEOUT_SECONDS)
    else:
        producer.abort_transaction(TIMEOUT_SECONDS)
    seen = (visible(bootstrap, debits), visible(bootstrap, credits_))
    assert seen == ((["debit 100 from A"], ["credit 100 to B"]) if commits else ([], []))


@pytest.mark.spec("admin:TX-05")
def test_a_transaction_needs_a_transactional_id(
    bootstrap: str, topic: str, transactional_id: str
) -> None:
    """Without one there is no transaction; with the id of another producer that one is out."""
    nameless = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    with pytest.raises(KafkaException) as refusal:
        nameless.init_transactions(TIMEOUT_SECONDS)
    assert refusal.value.args[0].code() == KafkaError._NOT_CONFIGURED
    first = transactional(bootstrap, transactional_id)
    first.begin_transaction()
    produce(first, topic, "first")
    second = transactional(bootstrap, transactional_id)
    with pytest.raises(KafkaException) as refusal:
        first.commit_transaction(TIMEOUT_SECONDS)
    assert refusal.value.args[0].code() == KafkaError._FENCED
    second.begin_transaction()
    produce(second, topic, "second")
    second.commit_transaction(TIMEOUT_SECONDS)
    assert visible(bootstrap, topic) == ["second"]


@pytest.mark.spec("admin:TX-07", "slides:E11")
def test_a_reader_is_told_what_was_aborted(tmp_path: Path) -> None:
    """An abort leaves a marker and an entry in .txnindex, which outlive the broker."""
    with Broker(data=tmp_path) as broker:
        with Connection(broker.bootstrap_servers) as connection:
            create_topic(connection, "topic")
        producer = transactional(broker.bootstrap_servers, "x")
        for value in ("a", "b"):
            producer.begin_transaction()
            produce(producer, "topic", value)
            producer.abort_transaction(TIMEOUT_SECONDS)
        for _ in range(2):
            (index,) = tmp_path.glob("topic-0/*.txnindex")
            assert index.stat().st_size == 2 * 34
            with Connection(broker.bootstrap_servers) as connection:
                answer = _fetched_committed(connection, "topic")
            markers = [each.is_control for each in batch_headers(answer.records)]
            assert markers == [False, True, False, True]
            aborted = [each.first_offset for each in answer.aborted_transactions]
            assert aborted == [0, 2]
            assert visible(broker.bootstrap_servers, "topic") == []
            broker.restart()


def _fetched_committed(connection: Connection, topic: str) -> Any:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        isolation_level=1,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )
    ((result,),) = [each.partitions for each in connection.ask(request, 12).responses]
    return result
