"""Writes log records to a topic on a timer, as a fleet of web servers would.

    python -m examples.ip_fraud.generator [-b HOST:PORT] [--topic iprecord] [--ticks N] [--seed N]

The first tick comes after three seconds, the next ones every three seconds. Each opens a producer,
sends one record per line of the template without waiting for answers, and closes it. Records have
no key, so they spread over the partitions; a topic that is missing is the broker's to create. `-b`
names the brokers; without it the records go to a broker that ends with the generator.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from confluent_kafka import Producer

from examples.ip_fraud.properties import PropertyReader
from examples.ip_fraud.traffic import Batch, Plan, batches
from examples.java_settings import open_client
from examples.topics import broker, command_line, produce

LOGGER = logging.getLogger(__name__)
FLUSH_TIMEOUT_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Timer:
    """Time as the schedule sees it; both in seconds of the same clock."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def generator_settings(bootstrap_servers: str) -> dict[str, str]:
    """The settings that the application gives its producer, the odd one included."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        "value.serializer": "org.apache.kafka.common.serialization.StringSerializer",
        # A setting of brokers, which a producer does not know: tolerated with a warning.
        "auto.create.topics.enable": "true",
    }


def send(settings: Mapping[str, Any], topic: str, batch: Batch) -> int:
    """One tick: open, send everything, close. Returns how many records the broker did not take."""
    producer = open_client(Producer, settings)
    for request in batch.requests:
        produce(producer, topic=topic, value=request.text, timestamp=batch.timestamp_ms)
    left = producer.flush(FLUSH_TIMEOUT_S)
    producer.close()
    return left


def generate(
    settings: Mapping[str, Any], topic: str, plan: Plan, timer: Timer | None = None
) -> int:
    """Run a plan on its schedule; returns the number of records sent."""
    timer = timer or Timer()
    due = timer.now() + plan.delay_ms / 1_000
    sent = 0
    for batch in batches(plan):
        timer.sleep(max(0.0, due - timer.now()))
        due += plan.period_ms / 1_000
        lost = send(settings, topic, batch)
        if lost:
            raise RuntimeError(f"{lost} records of a tick were not taken within the time-out")
        sent += len(batch.requests)
    return sent


def main() -> None:
    properties = PropertyReader("streaming.properties")
    plan = Plan()
    parser = command_line(__doc__)
    parser.add_argument("--topic", default=properties.get("topic"))
    parser.add_argument("--ticks", type=int, help="how many; default: until Ctrl-C")
    parser.add_argument("--records-per-tick", type=int, help="default: lines of the template")
    parser.add_argument("--delay-ms", type=int, default=plan.delay_ms)
    parser.add_argument("--period-ms", type=int, default=plan.period_ms)
    parser.add_argument("--begin-ms", type=int, default=0, help="the time of the first records")
    parser.add_argument("--returning", type=float, default=0.0, help="share of known addresses")
    parser.add_argument("--seed", type=int, default=time.time_ns())
    asked = vars(parser.parse_args())
    named = asked.pop("servers")
    topic = asked.pop("topic")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        with broker(named) as servers:
            sent = generate(generator_settings(servers), topic, Plan(**asked))
    except KeyboardInterrupt:
        return
    LOGGER.info("%d records sent to %s", sent, topic)


def arguments_of(plan: Plan, servers: str, topic: str) -> list[str]:
    """The command line that runs a plan in a process of its own."""
    named = [f"--{name.replace('_', '-')}={value}" for name, value in asdict(plan).items()]
    return [f"--bootstrap-server={servers}", f"--topic={topic}", *named]


if __name__ == "__main__":
    main()
