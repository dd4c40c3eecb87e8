"""SimpleStockPriceConsumer: the newest price of each stock, shown now and then.

python -m examples.labs.stock.latest_prices
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import Consumer, KafkaException

from examples.cluster.lab import PATIENCE_S, LabFailed, say
from examples.labs.reading import MEMBER_SETTINGS
from examples.labs.staging import check, expect, on_broker
from examples.labs.stock.market import last_prices, open_market, price_of
from examples.labs.stock.price import StockPrice
from examples.leaving import leave
from headrace.testing import Broker

TOPIC: Final = "stock-prices-latest"
PRICES: Final = 1_200
MAX_POLL_RECORDS: Final = 5
SHOW_EVERY: Final = 100


class StockPriceConsumer:
    """Keeps a map of prices, and shows it after every hundredth poll that brought something."""

    def __init__(self, consumer: Consumer) -> None:
        self.prices: dict[str, StockPrice] = {}
        self.read = 0
        self.shown = 0
        self._polls = 0
        self._consumer = consumer

    def run(self, until: Callable[[], bool]) -> None:
        while not until():
            messages = self._consumer.consume(MAX_POLL_RECORDS, 0.2)
            if not messages:
                continue
            for message in messages:
                if (error := message.error()) is not None:
                    raise KafkaException(error)
                price = price_of(message)
                self.prices[price.name] = price
            self.read += len(messages)
            self._polls += 1
            if self._polls % SHOW_EVERY == 0:
                self._show({message.partition() for message in messages}, len(messages))

    def _show(self, partitions: set[int | None], count: int) -> None:
        self.shown += 1
        print(f"ConsumerRecords partition count {len(partitions)}, record count {count}")
        for price in self.prices.values():
            print(f"ticker {price.name} price {price.dollars}.{price.cents}")


def story(broker: Broker) -> None:
    servers = broker.bootstrap_servers
    written = open_market(servers, TOPIC, PRICES)
    say(f"A consumer reads {PRICES} prices, {MAX_POLL_RECORDS} at a time")
    consumer = Consumer({"bootstrap.servers": servers, "group.id": TOPIC, **MEMBER_SETTINGS})
    consumer.subscribe([TOPIC])
    reader = StockPriceConsumer(consumer)
    deadline = time.monotonic() + PATIENCE_S

    def done() -> bool:
        if time.monotonic() > deadline:
            raise LabFailed(f"only {reader.read} prices came")
        return reader.read >= PRICES

    reader.run(done)
    leave(consumer)
    expect(reader.prices, last_prices(written), "its map has the last price of each stock")
    check(reader.shown >= PRICES // MAX_POLL_RECORDS // SHOW_EVERY, "it was shown now and then")


if __name__ == "__main__":
    on_broker(story)
