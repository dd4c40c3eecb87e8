"""`kafka-console-producer`; what it wrote is the matter of tests/cli/kafka_compat."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case
from tests.parity.stage import file, topic

ORDERS = topic("orders")


def case(words: str, **more: Any) -> Case:
    more = {"setup": (ORDERS,), "stdin": "k\tv\n", **more}
    words = "--bootstrap-server {bootstrap} " + words
    return Case("kafka-console-producer", words, **more)


CASES = [
    case("--topic orders", stdin="one\ntwo\n\nfour"),
    case("--topic orders", name="no lines", stdin=""),
    case("--topic orders --sync"),
    case("--topic orders --request-required-acks 1 --compression-codec zstd"),
    case("--topic orders --compression-codec"),
    case("--topic orders --batch-size=1000 --timeout 10 --message-send-max-retries 1"),
    case("--topic orders --reader-property parse.key=true"),
    case("--topic orders --reader-property parse.key=true --reader-property key.separator=:"),
    case(
        "--topic orders --reader-property parse.key=true --reader-property key.separator=: "
        "--reader-property ignore.error=true"
    ),
    case("--topic orders --reader-property parse.headers=true", stdin="a:b,c:d\tvalue\n"),
    case("--topic orders --reader-property parse.headers=true", stdin="ab\tv\n", name="no pair"),
    case("--topic orders --reader-property headers.separator=:"),
    case("--topic orders --reader-property null.marker=,"),
    case(
        "--topic orders --reader-config {folder}/r", setup=(ORDERS, file("r", "parse.key=true\n"))
    ),
    case("--topic orders --property parse.key=true"),
    case("--topic orders --property parse.key=true --reader-property ignore.error=true"),
    case("--topic orders --producer-property linger.ms=1 --command-property linger.ms=2"),
    case("--topic orders --producer-property linger.ms=1"),
    case("--topic orders --command-property linger.ms=1"),
    case("--topic orders --producer.config {folder}/p", setup=(ORDERS, file("p", "acks=1\n"))),
    case("--topic orders --command-config {folder}/p", setup=(ORDERS, file("p", "acks=1\n"))),
    case("--topic orders --max-partition-memory-bytes 1000"),
    case("--topic orders --line-reader no.such.Reader"),
    case("--sync"),
    case("--topic orders --nonsense"),
    case("--topic"),
    Case("kafka-console-producer", "--topic orders"),
]
