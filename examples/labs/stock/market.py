"""A topic full of prices for the consumers to read, always the same ones."""

from __future__ import annotations

from random import Random

from confluent_kafka import Message

from examples.labs.stock.partitioner import stock_price_partitioner
from examples.labs.stock.price import PARTITIONS, TICKERS, StockPrice, Ticker
from examples.labs.stock.producer import CUSTOM_SETTINGS
from examples.topics import Draft, create_topic, send

_RULE = stock_price_partitioner(CUSTOM_SETTINGS)
# By the partitioner the tickers of the labs leave a partition empty; HPE fills it.
_LISTED = (*TICKERS, Ticker("UBER", (20, 40)), Ticker("HPE", (10, 30)))


def open_market(servers: str, topic: str, prices: int) -> list[StockPrice]:
    """Create the topic and write so many prices."""
    create_topic(servers, topic, partitions=PARTITIONS)
    return trade(servers, topic, prices, seed=1)


def trade(servers: str, topic: str, prices: int, seed: int) -> list[StockPrice]:
    """Write more prices, ticker by ticker in turn."""
    chance = Random(seed)
    made = [_LISTED[number % len(_LISTED)].price(chance) for number in range(prices)]
    send(servers, topic, [draft_of(price) for price in made])
    return made


def draft_of(price: StockPrice) -> Draft:
    return Draft(price.to_json(), price.name, partition=_RULE(price.name, PARTITIONS))


def last_prices(prices: list[StockPrice]) -> dict[str, StockPrice]:
    """The newest price of each ticker."""
    return {price.name: price for price in prices}


def price_of(message: Message) -> StockPrice:
    return StockPrice.from_json(message.value() or b"")
