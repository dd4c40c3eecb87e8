"""The transactions demonstration: consume, process, produce, and commit all of it at once.

    python -m examples.labs.transactions

Everything in one run: a consumer joins its group, a producer finds its
transaction coordinator and fences whoever had its name before, records and the consumer's offsets
go into one transaction, and markers in every partition make all of it visible at the same moment.
"""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaException, Producer, TopicPartition

from examples.cluster.lab import PATIENCE_S, say
from examples.labs.reading import Member, committed, poll_until, read_topic
from examples.labs.staging import check, expect, on_broker
from examples.topics import Draft, create_topic, send
from headrace.testing import Broker

SOURCE: Final = "payments"
TARGETS: Final = ("debits", "credits")
GROUP: Final = "transfer"
NAME: Final = "transfer-1"
PAYMENTS: Final = [f"{n} pays {n + 1}" for n in range(5)]


def transactional(servers: str) -> Producer:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": NAME, "log_level": 0})
    producer.init_transactions(PATIENCE_S)
    return producer


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    for topic in (SOURCE, *TARGETS):
        create_topic(servers, topic)
    send(servers, SOURCE, [Draft(text) for text in PAYMENTS])
    say("1-2. A consumer joins its group; it commits nothing by itself")
    settings = {"enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer = Member(servers, GROUP, SOURCE, "transfer", **settings)
    poll_until([consumer], lambda: len(consumer.records) >= 5, "the payments are read")

    say("3-4. A producer finds its coordinator, and gets an id and an epoch")
    zombie = transactional(servers)
    zombie.begin_transaction()
    zombie.produce(TARGETS[0], "from a zombie")
    producer = transactional(servers)
    print("a second one of the same name gets a higher epoch: the first is fenced")
    try:
        zombie.flush(PATIENCE_S)
        zombie.commit_transaction(PATIENCE_S)
        fenced = False
    except KafkaException as fault:
        fenced = fault.args[0].fatal()
        print(f"the zombie is told: {fault.args[0].str()}")
    check(fenced, "the zombie cannot commit")

    say("5-10. Process and produce; the consumer's offsets go into the same transaction")
    _transfer(producer, consumer)
    expect(_seen(servers), [[], []], "before the commit no record is seen")
    expect(committed(servers, GROUP, SOURCE), {}, "and no offset is committed")
    uncommitted = len(read_topic(servers, TARGETS[1], "read_uncommitted"))
    expect(uncommitted, 5, "who reads uncommitted records sees them already")

    say("11-14. Commit: the decision is written down, then a marker into every partition")
    producer.commit_transaction(PATIENCE_S)
    debits, credits_ = _seen(servers)
    expect(len(debits), 5, "five debits are seen")
    expect(len(credits_), 5, "and five credits")
    expect(committed(servers, GROUP, SOURCE), {0: 5}, "and the offset behind the fifth payment")
    _, end = consumer.consumer.get_watermark_offsets(_place(TARGETS[1]), PATIENCE_S)
    expect(end, 6, "five records and the marker: the next offset is 6")

    say("And the other end of a transaction")
    _transfer(producer, consumer)
    producer.abort_transaction(PATIENCE_S)
    expect(_seen(servers), [debits, credits_], "what was aborted is never seen")
    expect(committed(servers, GROUP, SOURCE), {0: 5}, "nor are its offsets")
    consumer.leave()
    producer.close()


def _transfer(producer: Producer, consumer: Member) -> None:
    producer.begin_transaction()
    for record in consumer.records:
        payer, payee = record.text.split(" pays ")
        producer.produce(TARGETS[0], f"{payer} loses")
        producer.produce(TARGETS[1], f"{payee} gains")
    positions = consumer.consumer.position(consumer.consumer.assignment())
    metadata = consumer.consumer.consumer_group_metadata()
    producer.send_offsets_to_transaction(positions, metadata, PATIENCE_S)
    producer.flush(PATIENCE_S)


def _seen(servers: str) -> list[list[str]]:
    return [[record.text for record in read_topic(servers, topic)] for topic in TARGETS]


def _place(topic: str) -> TopicPartition:
    return TopicPartition(topic, 0)


if __name__ == "__main__":
    on_broker(story)
