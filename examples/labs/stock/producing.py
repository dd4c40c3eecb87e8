"""The stock-price producer on three brokers, watched, interrupted, and checked.

    python -m examples.labs.stock.producing

Every record must be on three brokers before it counts. The producer has a serializer, batches,
compression, retries, an interceptor, metrics, a partitioner, and an end in good order: Ctrl-C loses
nothing that it had sent.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from typing import Final

from examples.cluster.lab import PATIENCE_S, LabFailed, await_all_in_sync, say, shell
from examples.labs.reading import Record, read_topic
from examples.labs.staging import check, expect, on_cluster
from examples.labs.stock.partitioner import stock_price_partitioner
from examples.labs.stock.price import TICKERS, TOPIC, StockPrice
from examples.labs.stock.producer import CUSTOM_SETTINGS, INTERRUPTED
from headrace.testing import Cluster

PARTITIONS: Final = 3
_WATCHED: Final = ("sent key=IBM ", "onSend ", "onAck ")


def story(cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    where = ("--bootstrap-server", servers)
    say("The topic: three partitions, three replicas, and all three must have a record")
    numbers = ("--partitions", str(PARTITIONS), "--replication-factor", "3")
    settings = ("--config", "min.insync.replicas=3", "--config", "max.message.bytes=65536")
    shell("kafka-topics", *where, "--create", "--topic", TOPIC, *numbers, *settings)
    await_all_in_sync(servers, TOPIC)
    shell("kafka-topics", *where, "--describe", "--topic", TOPIC)

    say("The producer runs until every hundredth record was printed, then comes Ctrl-C")
    code, output = watch_and_interrupt(servers)
    expect(code, INTERRUPTED, "it ends with 130")
    told = re.search(r"(\d+) acknowledged, (\d+) failed, (\d+) left", output)
    check(told is not None, "it says how many records there were")
    assert told is not None
    expect((told[2], told[3]), ("0", "0"), "none has failed, and none was left in the buffer")
    stored = read_topic(servers, TOPIC)
    expect(len(stored), int(told[1]), f"all {told[1]} acknowledged records are in the topic")
    figures = re.search(r"records-per-batch-avg=(\d+)", output)
    check(figures is not None and int(figures[1]) > 1, "a batch has more than one record")

    say("What is in the topic")
    log = cluster.brokers[0].log_dir / f"{TOPIC}-0" / f"{0:020d}.log"
    dumped = shell("kafka-dump-log", "--files", str(log))
    check("compresscodec: snappy" in dumped, "batches are stored as they were compressed")
    check_prices(stored)
    choose = stock_price_partitioner(CUSTOM_SETTINGS)
    found = {record.name: record.partition for record in stored}
    expect(
        found,
        {ticker.name: choose(ticker.name, PARTITIONS) for ticker in TICKERS},
        "IBM, which is important, has the last partition for itself",
    )


def watch_and_interrupt(servers: str) -> tuple[int, str]:
    """Run the producer until it has shown all that it shows; its exit code and its output."""
    words = [sys.executable, "-m", "examples.labs.stock.producer", "--bootstrap-server", servers]
    print(f"$ python {' '.join(words[1:])}", flush=True)
    awaited = set(_WATCHED)
    lines: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while awaited and time.monotonic() < deadline:
                lines.append(process.stdout.readline())
                print(lines[-1], end="", flush=True)
                awaited -= {each for each in awaited if lines[-1].startswith(each)}
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
    if awaited:
        raise LabFailed(f"the producer did not print {sorted(awaited)}")
    print(rest, end="", flush=True)
    return process.returncode, "".join(lines) + rest


def check_prices(stored: list[Record]) -> None:
    """Each value is a price in the expected form and in its ticker's bounds."""
    bounds = {ticker.name: ticker for ticker in TICKERS}
    for record in stored:
        price = StockPrice.from_json(record.text)
        ticker = bounds[price.name]
        low, high = ticker.dollars
        if record.text != price.to_json() or record.name != price.name:
            raise LabFailed(f"{record} is not of the form TICKER: dollars and cents")
        if not (low <= price.dollars <= high and 10 <= price.cents <= 99):
            raise LabFailed(f"{price} is out of bounds")
    print(f"for example {stored[0].text}")
    check(bool(stored), "every value is a price in the bounds of its ticker, its key the ticker")


if __name__ == "__main__":
    on_cluster(story)
