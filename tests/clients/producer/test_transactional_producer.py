"""The transactional calls of the Java client, by the names that they have now."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import Error
from tests.clients.drivers.driver import Refused
from tests.clients.groups.raw_members import committed
from tests.clients.producer.gateway import Api, Gateway, gateway
from tests.clients.producer.java_producer import JavaProducer
from tests.clients.raw import Connection
from tests.clients.transactions.application import COMMITTED, UNCOMMITTED, visible

NewJava = Callable[..., JavaProducer]


@pytest.mark.spec("slides:E07", "slides:E08")
def test_the_calls_of_a_transaction(
    new_java: NewJava, bootstrap: str, connection: Connection, topic: str
) -> None:
    """initTransactions, beginTransaction, send, sendOffsetsToTransaction, and either end."""
    producer = new_java(transactional_id=topic)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send({"topic": topic, "value": "aborted"})
    producer.send_offsets_to_transaction([(topic, 0, 5)], group=topic)
    producer.flush()
    producer.abort_transaction()
    assert committed(connection, topic, topic).committed_offset == -1
    producer.begin_transaction()
    producer.send({"topic": topic, "value": "committed"})
    producer.send_offsets_to_transaction([(topic, 0, 7)], group=topic)
    producer.commit_transaction()
    assert [each["exception"] for each in producer.reports(2)] == [None, None]
    assert visible(bootstrap, topic, COMMITTED) == ["committed"]
    assert visible(bootstrap, topic, UNCOMMITTED) == ["aborted", "committed"]
    assert committed(connection, topic, topic).committed_offset == 7


@pytest.mark.spec("slides:E07", "admin:TX-05")
def test_calls_out_of_order_are_refused(new_java: NewJava, topic: str) -> None:
    """The client itself refuses to begin before it is initialised, or without a transaction."""
    with pytest.raises(Refused, match="IllegalStateException"):
        new_java().init_transactions()
    producer = new_java(transactional_id=topic)
    with pytest.raises(Refused, match="IllegalStateException"):
        producer.begin_transaction()
    producer.init_transactions()
    (early,) = producer.send({"topic": topic, "value": "v"})
    assert early["thrown"] == "IllegalStateException"
    with pytest.raises(Refused, match="Exception"):
        producer.commit_transaction()


@pytest.mark.spec("slides:E09", "slides:E07")
def test_a_zombie_is_fenced(new_java: NewJava, bootstrap: str, topic: str) -> None:
    """ProducerFencedException: it can only be closed; its successor goes on."""
    zombie, successor = new_java(transactional_id=topic), new_java(transactional_id=topic)
    zombie.init_transactions()
    zombie.begin_transaction()
    zombie.send_and_get({"topic": topic, "value": "zombie"})
    successor.init_transactions()
    with pytest.raises(Refused, match=r"ProducerFencedException"):
        zombie.commit_transaction()
    successor.begin_transaction()
    successor.send_and_get({"topic": topic, "value": "successor"})
    successor.commit_transaction()
    assert visible(bootstrap, topic) == ["successor"]


@pytest.mark.spec("slides:E09")
def test_another_fault_ends_in_an_abort(
    new_java: NewJava, gateway: Gateway, bootstrap: str, topic: str
) -> None:
    """A record that is refused fails the transaction; after abortTransaction all is well again."""
    producer = new_java(bootstrap=gateway.bootstrap, transactional_id=topic)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send_and_get({"topic": topic, "value": "good"})
    gateway.fail_next(Error.INVALID_RECORD)
    producer.send({"topic": topic, "value": "bad"})
    producer.flush()
    # The client wraps the fault, or throws it as it is, as its threads happen to meet.
    with pytest.raises(Refused, match=r"KafkaException|InvalidRecordException"):
        producer.commit_transaction()
    producer.abort_transaction()
    producer.begin_transaction()
    producer.send_and_get({"topic": topic, "value": "better"})
    producer.commit_transaction()
    assert visible(bootstrap, topic) == ["better"]


@pytest.mark.parametrize("version", [1, 2], ids="transactions v{}".format)
def test_what_a_transaction_sends(
    new_java: NewJava, bootstrap: str, connection: Connection, topic: str, version: int
) -> None:
    """With transactions v2 neither partitions nor groups are added by requests of their own.

    A client that finds a lower level of the feature does what was done before (KIP-890).
    """
    with gateway(bootstrap, feature_levels={"transaction.version": version}) as between:
        producer = new_java(bootstrap=between.bootstrap, transactional_id=topic)
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_and_get({"topic": topic, "value": "v"})
        producer.send_offsets_to_transaction([(topic, 0, 1)], group=topic)
        producer.commit_transaction()
        added = [*between.of(Api.ADD_PARTITIONS_TO_TXN), *between.of(Api.ADD_OFFSETS_TO_TXN)]
        assert len(added) == (2 if version == 1 else 0)
    assert visible(bootstrap, topic) == ["v"]
    assert committed(connection, topic, topic).committed_offset == 1
