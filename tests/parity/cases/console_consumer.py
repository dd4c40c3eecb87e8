"""`kafka-console-consumer`."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer

from tests.parity.case import Case
from tests.parity.internal_records import OF_GROUPS, OF_SHARES, OF_TRANSACTIONS, written
from tests.parity.stage import Stage, committed, file, records, topic

ORDERS = (
    topic("orders"),
    records(
        "orders",
        [("a", "one"), (None, "two"), ("c", None)],
        headers=[("h", b"1"), ("empty", b"")],
    ),
)
LONGS = (topic("longs"), records("longs", [("\0\0\0\0\0\0\0\7", "\0\0\0\1")]))
LINES = "one JSON per line; Kafka 4 prints them without an end of the line between"
START = "--topic orders --from-beginning --max-messages 3"


def _transactions(stage: Stage) -> None:
    for value, commits in (("committed", True), ("aborted", False), ("last", True)):
        producer = Producer({"bootstrap.servers": stage.bootstrap, "transactional.id": "t"})
        producer.init_transactions(20)
        producer.begin_transaction()
        producer.produce("orders", value, partition=0)
        producer.flush(20)
        if commits:
            producer.commit_transaction(20)
        else:
            producer.abort_transaction(20)


def case(words: str, **more: Any) -> Case:
    more = {"setup": ORDERS, **more}
    words = "--bootstrap-server {bootstrap} " + words
    return Case("kafka-console-consumer", words, **more)


def shown(*properties: str, **more: Any) -> Case:
    words = " ".join(f"--formatter-property '{each}'" for each in properties)
    return case(f"{START} {words}", **more)


CASES = [
    # -- what is printed ---------------------------------------------------------------------------
    case(START),
    shown("print.key=true"),
    shown("print.timestamp=true", "print.offset=true", "print.partition=true"),
    shown("print.headers=true"),
    shown("print.headers=true", "headers.separator=;", "print.value=false"),
    shown(
        "print.epoch=true",
        "print.delivery=true",
        differs="the epoch is printed; Kafka 4.3 has the property, and prints that there is none",
    ),
    shown("print.key=TRUE", "key.separator= -> ", "null.literal=NIL"),
    shown("line.separator=|", "print.value=true"),
    shown("print.key=true", "print.value=false"),
    shown("print.value=false"),
    case(f"{START} --formatter-config {{folder}}/f", setup=(*ORDERS, file("f", "print.key=true"))),
    case(f"{START} --property print.key=true"),
    case(
        "--topic longs --from-beginning --max-messages 1 --formatter-property print.key=true "
        "--key-deserializer org.apache.kafka.common.serialization.LongDeserializer "
        "--value-deserializer org.apache.kafka.common.serialization.IntegerDeserializer",
        setup=LONGS,
    ),
    case(f"{START} --formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter"),
    case(f"{START} --formatter org.apache.kafka.tools.consumer.LoggingMessageFormatter"),
    case(f"{START} --formatter no.such.Formatter"),
    *(
        case(
            f"--topic states --from-beginning --max-messages {len(states)} "
            f"--formatter org.apache.kafka.tools.consumer.{formatter}",
            setup=(topic("states"), written("states", states)),
            # Of one alone there is nothing between.
            differs="" if formatter == "ShareGroupMessageFormatter" else LINES,
        )
        for formatter, states in (
            ("OffsetsMessageFormatter", OF_GROUPS),
            ("GroupMetadataMessageFormatter", OF_GROUPS),
            ("ShareGroupMessageFormatter", OF_GROUPS),
            ("TransactionLogMessageFormatter", OF_TRANSACTIONS),
            ("group.share.ShareGroupStateMessageFormatter", OF_SHARES),
        )
    ),
    # -- where it begins ---------------------------------------------------------------------------
    case("--topic orders --partition 0 --offset 1 --max-messages 2"),
    case("--topic orders --partition 0 --offset earliest --max-messages 1"),
    case("--topic orders --partition 0 --from-beginning --max-messages 1"),
    case("--topic orders --partition 0 --offset latest --timeout-ms 300"),
    case("--topic orders --partition=0 --offset=2 --max-messages=1"),
    case("--include 'ord.*' --from-beginning --max-messages 3"),
    case(
        "--topic orders --group g --max-messages 1",
        setup=(*ORDERS, committed("g", {("orders", 0): 1})),
    ),
    case(START, name="transactions", setup=(topic("orders"), _transactions)),
    case(
        "--topic orders --from-beginning --max-messages 2 --isolation-level read_committed",
        setup=(topic("orders"), _transactions),
    ),
    case("--topic orders --from-beginning --max-messages 0"),
    case(f"{START} --enable-systest-events"),
    case(f"{START} --consumer-property client.id=me"),
    case(f"{START} --consumer.config {{folder}}/c", setup=(*ORDERS, file("c", "client.id=me"))),
    case(f"{START} --skip-message-on-error"),
    # -- what is refused ---------------------------------------------------------------------------
    case("--from-beginning"),
    case("--topic orders --include orders"),
    case("--topic orders --offset 1"),
    case("--include orders --partition 0"),
    case("--topic orders --partition 0 --offset -5"),
    case("--topic orders --partition 0 --offset soon"),
    case("--topic orders --partition 0 --offset 1 --from-beginning"),
    case("--topic orders --partition 0 --group g"),
    case("--topic orders --group g --consumer-property group.id=h"),
    case("--topic orders --from-beginning --command-property auto.offset.reset=latest"),
    case("--topic orders --property print.key=true --formatter-property print.key=true"),
    case("--topic orders --partition zero"),
    case("--topic orders --nonsense"),
    Case("kafka-console-consumer", "--topic orders"),
]
