"""Consume, transform, produce: each input has its effect once, whatever fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from tests.clients.groups.raw_members import committed
from tests.clients.producer.gateway import Api, Gateway, Loss, gateway
from tests.clients.raw import Connection
from tests.clients.transactions.application import (
    TIMEOUT_SECONDS,
    arriving,
    produce,
    transactional,
    visible,
    worker,
)

NewTopic = Callable[..., str]
INPUTS = [str(number) for number in range(10)]


@pytest.fixture
def between(bootstrap: str) -> Iterator[Gateway]:
    with gateway(bootstrap) as standing:
        yield standing


@pytest.fixture
def source(bootstrap: str, new_topic: NewTopic) -> str:
    """A topic with ten records."""
    topic = new_topic()
    produce(Producer({"bootstrap.servers": bootstrap, "log_level": 0}), topic, *INPUTS)
    return topic


class Squares:
    """Squares the numbers of a topic, a few of them per transaction."""

    def __init__(self, bootstrap: str, source: str, target: str, name: str) -> None:
        self._bootstrap = bootstrap
        self._source, self._target, self._group = source, target, name
        # With one broker, librdkafka starts anew when a connection breaks, forgets its coordinator
        # and may then never end the transaction, whatever the broker says.
        self._producer = transactional(
            bootstrap, name, retry_backoff_ms=10, metadata_recovery_strategy="none"
        )

    def run(self, *, per_transaction: int = 3, crash_after: int | None = None) -> None:
        """Until the end of the source; or stop for ever in the midst of a transaction."""
        with worker(self._bootstrap, self._group, self._source) as consumer:
            in_transaction = 0
            for done, message in enumerate(arriving(consumer, self._source)):
                if in_transaction == 0:
                    self._producer.begin_transaction()
                square = int(message.value() or b"") ** 2
                self._producer.produce(self._target, str(square), partition=0)
                in_transaction += 1
                if done + 1 == crash_after:
                    assert self._producer.flush(TIMEOUT_SECONDS) == 0
                    return
                if in_transaction == per_transaction:
                    self.end(consumer)
                    in_transaction = 0
            if in_transaction:
                self.end(consumer)

    def end(self, consumer: Consumer) -> None:
        """Commit what was written, with the place in the source."""
        positions = consumer.position(consumer.assignment())
        metadata = consumer.consumer_group_metadata()
        self._producer.send_offsets_to_transaction(positions, metadata, TIMEOUT_SECONDS)
        self._producer.commit_transaction(TIMEOUT_SECONDS)


SQUARES = [str(number**2) for number in range(10)]


@pytest.mark.spec("book2:O-03", "book2:O-08", "slides:E08", "slides:E05")
def test_a_crash_is_reverted(
    bootstrap: str, connection: Connection, source: str, topic: str, group: str
) -> None:
    """What its transaction had written is not seen, its offsets are not moved; the next one goes
    on where the last commit was."""
    Squares(bootstrap, source, topic, group).run(crash_after=5)
    assert committed(connection, group, source).committed_offset == 3
    Squares(bootstrap, source, topic, group).run()
    assert visible(bootstrap, topic) == SQUARES
    assert committed(connection, group, source).committed_offset == 10


@pytest.mark.spec("book2:O-03", "book2:O-08", "slides:E05")
@pytest.mark.parametrize("loss", Loss, ids=lambda loss: loss.name.lower())
@pytest.mark.parametrize(
    "api",
    [Api.PRODUCE, Api.TXN_OFFSET_COMMIT, Api.END_TXN],
    ids=lambda api: api.name.lower(),
)
def test_a_repeated_request_has_no_effect(
    between: Gateway,
    bootstrap: str,
    connection: Connection,
    source: str,
    topic: str,
    group: str,
    api: Api,
    loss: Loss,
) -> None:
    """A request or its answer is lost, the producer sends it again: nothing is lost or doubled."""
    squares = Squares(between.bootstrap, source, topic, group)
    between.fail_next(None, loss, api=api)
    squares.run()
    assert visible(bootstrap, topic) == SQUARES
    assert committed(connection, group, source).committed_offset == 10
    assert len(between.of(api)) > 4


@pytest.mark.spec("book2:O-03", "slides:E09", "admin:TX-06")
def test_a_successor_takes_over(
    bootstrap: str, connection: Connection, source: str, topic: str, group: str
) -> None:
    """The one that was thought dead may neither write nor commit when it wakes up."""
    zombie = Squares(bootstrap, source, topic, group)
    zombie.run(crash_after=2)
    Squares(bootstrap, source, topic, group).run()
    with worker(bootstrap, group, source) as consumer:
        assert list(arriving(consumer, source)) == []
        with pytest.raises(KafkaException) as refusal:
            zombie.end(consumer)
    assert refusal.value.args[0].code() == KafkaError._FENCED
    assert visible(bootstrap, topic) == SQUARES
    assert committed(connection, group, source).committed_offset == 10
