"""A watcher: looks at high watermarks and committed offsets, which must never go back."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.chaos.cluster.topics import COPIERS, INPUT, KEYS, PARTITIONS
from tests.chaos.exactly_once.client import IMPATIENT, Life, begin_life, now_ms
from tests.chaos.exactly_once.values import split_key
from tests.chaos.history.operation import Kind, Record

PAUSE_SECONDS = 1.0
ASK_SECONDS = 2.0
COMMITTED = f"committed by {COPIERS}"
END = "high watermark"


def look_at_ends(life: Life, consumer: Consumer) -> None:
    for key in KEYS:
        began_ms = now_ms()
        try:
            found = consumer.get_watermark_offsets(TopicPartition(*split_key(key)), ASK_SECONDS)
        except KafkaException:
            continue  # nobody leads the partition just now
        if found is not None:
            life.journal.note(Kind.LOOK, began_ms, now_ms(), looked=[Record(key, found[1], END)])


def look_at_commits(life: Life, consumer: Consumer) -> None:
    places = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS)]
    began_ms = now_ms()
    try:
        found = consumer.committed(places, timeout=ASK_SECONDS)
    except KafkaException:
        return  # the coordinator is on its way to another broker
    looked = [
        Record(f"{place.topic}/{place.partition}", place.offset, COMMITTED)
        for place in found
        if place.error is None and place.offset >= 0
    ]
    life.journal.note(Kind.LOOK, began_ms, now_ms(), looked=looked)


def main() -> None:
    life = begin_life()
    consumer = Consumer(
        {
            **IMPATIENT,
            "bootstrap.servers": life.bootstrap,
            "group.id": COPIERS,
            "enable.auto.commit": False,
        }
    )
    while not life.asked_to_end.wait(PAUSE_SECONDS):
        look_at_ends(life, consumer)
        look_at_commits(life, consumer)
    consumer.close()


if __name__ == "__main__":
    main()
