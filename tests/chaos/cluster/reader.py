"""A reader of every partition of a run, the probe too; see `exactly_once.reader`."""

from __future__ import annotations

from tests.chaos.cluster.topics import KEYS
from tests.chaos.exactly_once.client import begin_life
from tests.chaos.exactly_once.reader import Reader

if __name__ == "__main__":
    life = begin_life()
    reader = Reader(life.bootstrap, life.journal, KEYS)
    while not life.asked_to_end.is_set():
        reader.poll()
    reader.close()
