"""Word count record at a time: cumulative, without regard to case, printed when it ends.

    python -m examples.storm_word_count

    kafkaspout ── stringsplit ── counter
      words

Words are dealt to the counters by their text, so that each counter has all occurrences of a word;
dealt evenly, two counters would each know half of them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from examples.sample_text import lines
from examples.storm.cluster import LocalCluster, after
from examples.storm.kafka_spout import KafkaSpout, SpoutConfig
from examples.storm.topology import Bolt, Topology, Tuple
from examples.topics import broker, named_servers, provide

NAME: Final = "KafkaLocal"
TOPIC: Final = "words"
GROUP: Final = "wordcountID"
COUNTERS: Final = 2
RUN_S: Final = 10.0


class StringToWordsSpliterBolt(Bolt):
    """Words between blanks, in lower case; empty ones are dropped."""

    fields = ("word",)

    def execute(self, taken: Tuple) -> None:
        for part in taken.value("str").split(" "):
            word = part.strip().lower()
            if word:
                self.collector.emit((word,), taken)
        self.collector.ack(taken)


class WordCountCalculatorBolt(Bolt):
    """Counts until the end, then tells everything it has."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._counts: Counter[str] = Counter()

    def execute(self, taken: Tuple) -> None:
        self._counts[taken.value("word")] += 1
        self.collector.ack(taken)

    def cleanup(self) -> None:
        for word, count in self._counts.items():
            self._tell(f"{word} : {count}")


def build_topology(source: SpoutConfig, tell: Callable[[str], None] = print) -> Topology:
    topology = Topology()
    topology.set_spout("kafkaspout", lambda: KafkaSpout(source))
    topology.set_bolt("stringsplit", StringToWordsSpliterBolt).shuffle_grouping("kafkaspout")
    topology.set_bolt(
        "counter", lambda: WordCountCalculatorBolt(tell), parallelism=COUNTERS
    ).fields_grouping("stringsplit", "word")
    return topology


def main() -> None:
    named = named_servers(__doc__)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    with broker(named) as servers:
        provide(TOPIC, lines())
        source = SpoutConfig(servers, TOPIC, GROUP)
        LocalCluster().run(NAME, build_topology(source), after(RUN_S))


if __name__ == "__main__":
    main()
