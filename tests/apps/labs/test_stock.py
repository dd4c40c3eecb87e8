"""The stock-price application: its parts by themselves, and its consumers against a broker."""

from __future__ import annotations

from random import Random
from types import ModuleType

import pytest

from examples.labs.java_hashes import partition_of, string_hash
from examples.labs.stock import (
    into_database,
    latest_prices,
    priority_queue,
    seeking,
    thread_per_consumer,
    worker_pool,
)
from examples.labs.stock.interception import EveryHundredth, Outgoing
from examples.labs.stock.partitioner import stock_price_partitioner
from examples.labs.stock.price import TICKERS, StockPrice
from examples.labs.stock.producer import SETTINGS
from examples.labs.stock.progress import PartitionProgress
from headrace.testing import Broker


@pytest.mark.spec("slides:O12")
def test_the_text_of_a_price() -> None:
    """With blanks around the price, and read back."""
    price = StockPrice(68, 37, "IBM")
    assert price.to_json() == '{"dollars": 68, "cents": 37, "name": "IBM"}'
    assert StockPrice.from_json(price.to_json()) == price


@pytest.mark.spec("slides:O13")
def test_prices_use_their_whole_range() -> None:
    """Both bounds occur, nothing beyond them, and dollars say nothing about cents."""
    chance = Random(1)
    for ticker in TICKERS:
        drawn = [ticker.price(chance) for _ in range(20_000)]
        low, high = (400, 500) if ticker.name == "GOOG" else (50, 100)
        assert {price.dollars for price in drawn} == set(range(low, high + 1))
        assert {price.cents for price in drawn} == set(range(10, 100))
    assert [ticker.name for ticker in TICKERS] == ["IBM", "SUN", "INEL", "GOOG"]


@pytest.mark.spec("slides:O16")
def test_important_stocks_have_the_last_partition() -> None:
    """By Java's hash of a text; who is important comes from a setting that Kafka does not know."""
    choose = stock_price_partitioner({"importantStocks": "IBM,UBER"})
    names = ("IBM", "UBER", "GOOG", "INEL", "SUN", "ABC")
    assert [choose(name, 3) for name in names] == [2, 2, 0, 0, 0, 0]
    assert stock_price_partitioner({"importantStocks": "SUN"})("SUN", 3) == 2
    assert choose("GOOG", 1) == 0


@pytest.mark.spec("slides:C48")
def test_the_settings_of_the_producer() -> None:
    """As the listing has them, not as its comments say; memory under librdkafka's name."""
    wanted = {
        "linger.ms": 200,
        "batch.size": 65536,
        "queue.buffering.max.kbytes": 67108864 // 1024,
        "compression.type": "snappy",
        "max.in.flight.requests.per.connection": 1,
        "retries": 2,
        "request.timeout.ms": 15000,
        "retry.backoff.ms": 1000,
        "acks": "all",
    }
    assert {key: SETTINGS[key] for key in wanted} == wanted


def test_java_hashes() -> None:
    """Known vectors, and a hash with a sign."""
    names = ("ABC", "GOOG", "IBM", "INEL", "UBER", "SUN")
    assert [partition_of(name.encode(), 3) for name in names] == [0, 0, 2, 0, 2, 2]
    keys = {1495042369509: 6, 1495042369487: 9, 1495042369486: 12, 1495042369488: 0}
    assert {key: partition_of(key.to_bytes(8, "big"), 13) for key in keys} == keys
    assert string_hash("polygenelubricants") == -(2**31)


def test_an_interceptor_sees_every_record(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints each hundredth and passes all of them on."""
    interceptor = EveryHundredth()
    record = Outgoing("stock-prices", "IBM", "{}")
    assert all(interceptor.on_send(record) is record for _ in range(250))
    assert capsys.readouterr().out.count("onSend topic=stock-prices key=IBM {}") == 2


def test_progress_is_what_is_finished_without_a_gap() -> None:
    """A finished record behind an unfinished one is not committed."""
    progress = PartitionProgress(7)
    for offset, committable in ((8, 7), (10, 7), (7, 9), (9, 11)):
        progress.finish(offset)
        assert progress.committable == committable


@pytest.mark.parametrize(
    "lab",
    [
        pytest.param(latest_prices, marks=pytest.mark.spec("slides:O18"), id="latest_prices"),
        pytest.param(seeking, marks=pytest.mark.spec("slides:O19"), id="seeking"),
        pytest.param(
            into_database, marks=pytest.mark.spec("slides:O20", "slides:D41"), id="into_database"
        ),
        pytest.param(
            thread_per_consumer, marks=pytest.mark.spec("slides:O21", "slides:D43"), id="threads"
        ),
        pytest.param(
            worker_pool, marks=pytest.mark.spec("slides:O22", "slides:D44"), id="worker_pool"
        ),
        pytest.param(
            priority_queue, marks=pytest.mark.spec("slides:O23", "slides:D23"), id="priority_queue"
        ),
    ],
)
@pytest.mark.spec("slides:O24")
def test_a_consumer_keeps_its_promises(broker: Broker, lab: ModuleType) -> None:
    """Told to its end, every outcome is as its document says."""
    lab.story(broker)
