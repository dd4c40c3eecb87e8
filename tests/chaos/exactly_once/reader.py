"""A reader: follows every partition with read_committed and notes each poll, empty ones too."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from tests.chaos.exactly_once.client import IMPATIENT, begin_life, now_ms, record_of
from tests.chaos.exactly_once.values import KEYS, split_key
from tests.chaos.history.journal import Journal
from tests.chaos.history.operation import Kind, Record

POLL_SECONDS = 0.5
MOST_RECORDS = 1000


class Reader:
    """One consumer over all partitions from their beginning."""

    def __init__(self, bootstrap: str, journal: Journal, keys: Sequence[str] = KEYS) -> None:
        self._journal = journal
        self._consumer = Consumer(
            {
                **IMPATIENT,
                "bootstrap.servers": bootstrap,
                "group.id": "readers-commit-nothing",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "check.crcs": True,
            }
        )
        places = [TopicPartition(*split_key(key), OFFSET_BEGINNING) for key in keys]
        began_ms = now_ms()
        self._consumer.assign(places)
        journal.note(Kind.ASSIGN, began_ms, now_ms(), keys=keys)

    def poll(self) -> list[Record]:
        began_ms = now_ms()
        messages = self._consumer.consume(MOST_RECORDS, POLL_SECONDS)
        records = [record_of(message) for message in messages if message.error() is None]
        self._journal.note(Kind.POLL, began_ms, now_ms(), polled=records)
        return records

    def close(self) -> None:
        self._consumer.close()


def main() -> None:
    life = begin_life()
    reader = Reader(life.bootstrap, life.journal)
    while not life.asked_to_end.is_set():
        reader.poll()
    reader.close()


if __name__ == "__main__":
    main()
