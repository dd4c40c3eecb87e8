"""The producer of stock prices: one thread for each ticker, one producer for all of them.

    python -m examples.labs.stock.producer [-b HOST:PORT]

Without `-b` it starts a broker of its own. It runs until Ctrl-C. Then it stops the threads, sends
what is buffered, waits for the answers, says how many there were, and ends with 130, as a program
does that was interrupted.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from random import Random
from typing import Any, Final

from confluent_kafka import KafkaError, Message, Producer

from examples.labs.stock.interception import EveryHundredth, InterceptedProducer, Outgoing
from examples.labs.stock.partitioner import Partitioner, stock_price_partitioner
from examples.labs.stock.price import PARTITIONS, TICKERS, TOPIC, Ticker
from examples.topics import broker, named_servers, provide

SETTINGS: Final[dict[str, Any]] = {
    "client.id": "StockPriceKafkaProducer",
    "acks": "all",
    # Batches: wait a little, so that a batch is worth the way, and compress it as a whole.
    "linger.ms": 200,
    "batch.size": 65_536,
    "queue.buffering.max.kbytes": 65_536,  # Java: buffer.memory=67108864
    "compression.type": "snappy",
    # Retries that cannot change the order: one request at a time.
    "retries": 2,
    "retry.backoff.ms": 1_000,
    "max.in.flight.requests.per.connection": 1,
    "request.timeout.ms": 15_000,
    "statistics.interval.ms": 500,
}
CUSTOM_SETTINGS: Final = {"importantStocks": "IBM,UBER"}
POOL_TIMEOUT_S: Final = 0.2
CLOSE_TIMEOUT_S: Final = 10.0
INTERRUPTED: Final = 130


class Metrics:
    """The figures of a batch, from the statistics that librdkafka gives twice a second."""

    def __init__(self) -> None:
        self._topics: dict[str, Any] = {}

    def on_statistics(self, text: str) -> None:
        self._topics = json.loads(text)["topics"]

    def show(self) -> None:
        for name, topic in self._topics.items():
            records, size = topic["batchcnt"]["avg"], topic["batchsize"]["avg"]
            print(f"metrics {name}: records-per-batch-avg={records} batch-size-avg={size}")


def send_prices(
    ticker: Ticker,
    producer: InterceptedProducer,
    partition: int,
    stop: threading.Event,
) -> None:
    """The work of one thread; every hundredth record is waited for and printed."""
    chance = Random(int(time.time() * 1000))
    sent = 0
    while not stop.is_set():
        sent += 1
        record = Outgoing(TOPIC, ticker.name, ticker.price(chance).to_json())
        if sent % 100 == 0:
            _send_and_wait(producer, record, partition, stop)
        else:
            producer.send(record, partition=partition)
        time.sleep(chance.randint(1, 10) / 1000)


def _send_and_wait(
    producer: InterceptedProducer, record: Outgoing, partition: int, stop: threading.Event
) -> None:
    answered = threading.Event()

    def show(error: KafkaError | None, message: Message) -> None:
        if error is None:
            place = f"topic={message.topic()} partition={message.partition()}"
            when = f"offset={message.offset()} time={message.timestamp()[1]}"
            print(f"sent key={record.key} {record.value} {place} {when}", flush=True)
        answered.set()

    producer.send(record, show, partition=partition)
    while not answered.wait(0.05) and not stop.is_set():
        pass


def run(servers: str, partitioner: Partitioner) -> int:
    """Send until interrupted, then end in good order; the exit code."""
    counting = EveryHundredth()
    metrics = Metrics()
    settings = {"bootstrap.servers": servers, "stats_cb": metrics.on_statistics, **SETTINGS}
    producer = Producer(settings)
    partitions = len(producer.list_topics(TOPIC, CLOSE_TIMEOUT_S).topics[TOPIC].partitions)
    intercepted = InterceptedProducer(producer, [counting])
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda _number, _frame: stop.set())
    threads = [
        threading.Thread(
            target=send_prices,
            args=(ticker, intercepted, partitioner(ticker.name, partitions), stop),
        )
        for ticker in TICKERS
    ]
    for thread in threads:
        thread.start()
    while not stop.is_set():
        producer.poll(0.1)  # acknowledgements are told here
    print("Shutting down", flush=True)
    for thread in threads:
        thread.join(POOL_TIMEOUT_S)
    left = producer.flush(CLOSE_TIMEOUT_S)
    metrics.show()
    producer.close()
    print(f"{counting.acknowledged} acknowledged, {counting.failed} failed, {left} left")
    return INTERRUPTED


def main() -> int:
    named = named_servers(__doc__)
    with broker(named) as servers:
        if named is None:
            provide(TOPIC, partitions=PARTITIONS)
        return run(servers, stock_price_partitioner(CUSTOM_SETTINGS))


if __name__ == "__main__":
    sys.exit(main())
