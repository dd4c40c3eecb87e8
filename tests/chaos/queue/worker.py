"""A share consumer with bad habits: it releases, rejects, dawdles until its locks expire, dies.

python -m tests.chaos.queue.worker BOOTSTRAP JOURNAL SEED LOCK_SECONDS
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer

from tests.chaos.queue.journal import Journal, Word

TOPIC, GROUP = "queue", "workers"
POLL_SECONDS = 0.5
COMMIT_SECONDS = 10.0
# Of a hundred records, roughly:
RELEASED, REJECTED = 12, 4
# Of a thousand batches:
CRASHES, DAWDLES = 6, 6


class Worker:
    """One life."""

    def __init__(self, bootstrap: str, journal: Journal, seed: int, lock_seconds: float) -> None:
        self._journal = journal
        self._random = random.Random(seed)
        self._lock_seconds = lock_seconds
        self._ended = False
        self._consumer = ShareConsumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "share.acknowledgement.mode": "explicit",
                "max.poll.records": 100,
                "log_level": 0,
            }
        )
        signal.signal(signal.SIGTERM, lambda *_: self._end())

    def _end(self) -> None:
        self._ended = True

    def run(self) -> None:
        self._consumer.subscribe([TOPIC])
        while not self._ended:
            messages = [each for each in self._consumer.poll(POLL_SECONDS) if each.error() is None]
            if messages:
                self._work(messages)
        self._consumer.close()

    def _work(self, messages: list[Message]) -> None:
        numbered = [(int(each.value() or b"-1"), each) for each in messages]
        self._journal.note(Word.GOT, [(n, each.delivery_count() or 0) for n, each in numbered])
        if self._random.randrange(1000) < DAWDLES:
            time.sleep(self._lock_seconds * 1.3)
        self._perhaps_crash()
        kinds = {number: self._kind() for number, _ in numbered}
        self._journal.note(Word.SAY, [(number, int(kinds[number])) for number, _ in numbered])
        for number, message in numbered:
            self._consumer.acknowledge(message, kinds[number])
        self._perhaps_crash()
        try:
            outcomes = self._consumer.commit_sync(COMMIT_SECONDS)
        except KafkaException:
            return  # in doubt for ever
        failed = {place.partition for place, fault in outcomes.items() if fault is not None}
        spoken_of = {place.partition for place in outcomes}
        told = [(n, each.partition()) for n, each in numbered if each.partition() in spoken_of]
        self._journal.note(Word.DONE, [(n, 0) for n, where in told if where not in failed])
        self._journal.note(Word.FAIL, [(n, 0) for n, where in told if where in failed])

    def _kind(self) -> AcknowledgeType:
        drawn = self._random.randrange(100)
        if drawn < RELEASED:
            return AcknowledgeType.RELEASE
        return AcknowledgeType.REJECT if drawn < RELEASED + REJECTED else AcknowledgeType.ACCEPT

    def _perhaps_crash(self) -> None:
        if self._random.randrange(2000) < CRASHES:
            os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    bootstrap, journal, seed, lock_seconds = sys.argv[1:]
    Worker(bootstrap, Journal(Path(journal)), int(seed), float(lock_seconds)).run()


if __name__ == "__main__":
    main()
