"""`kafka-producer-perf-test`: numbers are its matter, the columns that of the comparison."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case
from tests.parity.stage import file, topic

ORDERS = topic("orders")
SMALL = "--topic orders --num-records 20 --throughput -1"


def case(words: str, **more: Any) -> Case:
    more = {"setup": (ORDERS,), "loose": ("numbers",), **more}
    words = "--bootstrap-server {bootstrap} " + words
    return Case("kafka-producer-perf-test", words, **more)


CASES = [
    case(f"{SMALL} --record-size 100"),
    case("--topic orders --num-records 30 --record-size 10 --throughput 100"),
    case(f"{SMALL} --payload-monotonic"),
    case(f"{SMALL} --payload-file {{folder}}/p", setup=(ORDERS, file("p", "one\ntwo\n"))),
    case(
        f"{SMALL} --payload-file {{folder}}/p --payload-delimiter ,",
        setup=(ORDERS, file("p", "one,two,three")),
    ),
    case(f"{SMALL} --record-size 10 --command-property acks=1 linger.ms=0"),
    case(f"{SMALL} --record-size 10 --producer-props acks=all"),
    case(
        f"{SMALL} --record-size 10 --command-config {{folder}}/c",
        setup=(ORDERS, file("c", "acks=1")),
    ),
    case(
        f"{SMALL} --record-size 10 --producer.config {{folder}}/c",
        setup=(ORDERS, file("c", "acks=1")),
    ),
    case(f"{SMALL} --record-size 10 --transaction-duration-ms 50"),
    case(f"{SMALL} --record-size 10 --transactional-id t"),
    case("--topic orders --num-records 40 --throughput -1 --record-size 10 --warmup-records 10"),
    case(
        f"{SMALL} --record-size 10 --print-metrics",
        differs="the metrics that librdkafka measures, under Java's names; it measures fewer",
    ),
    # -- what is refused ---------------------------------------------------------------------------
    case(SMALL),
    case(f"{SMALL} --record-size 0"),
    case(f"{SMALL} --record-size 10 --payload-monotonic"),
    case(f"{SMALL} --record-size 10 --warmup-records 20"),
    case(f"{SMALL} --record-size 10 --transaction-duration-ms 0"),
    case(f"{SMALL} --record-size 10 --producer-props acks=1 --command-property acks=1"),
    case("--topic orders --num-records 0 --throughput -1 --record-size 10"),
    case("--topic orders --num-records 20 --record-size 10"),
    case("--num-records 20 --record-size 10 --throughput -1"),
    Case("kafka-producer-perf-test", f"{SMALL} --record-size 10"),
]
