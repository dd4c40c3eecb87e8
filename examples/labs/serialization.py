"""Which serialization? The same orders in JSON, Avro and Protobuf: bytes, CPU, who can read them.

    python -m examples.labs.serialization

Each format is measured with the library that Python's Kafka clients use for it. Sizes are the same
everywhere and are checked; CPU depends on the machine, so it is only shown.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

import fastavro

from examples.cluster.lab import say
from examples.labs.protobuf_messages import generated
from examples.labs.staging import alone, check

ORDERS: Final = 20_000
AVRO: Final = fastavro.parse_schema(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "customer", "type": "string"},
            {"name": "article", "type": "string"},
            {"name": "pieces", "type": "int"},
            {"name": "price", "type": "double"},
        ],
    }
)
PROTO: Final = """\
syntax = "proto3";
message Order {
  int64 id = 1;
  string customer = 2;
  string article = 3;
  int32 pieces = 4;
  double price = 5;
}
"""
Order = dict[str, Any]


class Format(NamedTuple):
    name: str
    encode: Callable[[Order], bytes]
    decode: Callable[[bytes], Order]
    reader_needs: str


class Measured(NamedTuple):
    size: int
    encode_us: float
    decode_us: float


def orders() -> list[Order]:
    return [
        {
            "id": 1_000_000 + number,
            "customer": f"customer-{number % 500}",
            "article": ("paddle", "sluice", "wheel")[number % 3],
            "pieces": 1 + number % 7,
            "price": 2.5 * (1 + number % 40),
        }
        for number in range(ORDERS)
    ]


@contextmanager
def formats() -> Iterator[list[Format]]:
    with generated(PROTO, "serialization_order") as classes:
        message = classes.Order
        fields = [field.name for field in message.DESCRIPTOR.fields]

        def from_avro(data: bytes) -> Order:
            order: Any = fastavro.schemaless_reader(io.BytesIO(data), AVRO, None)
            return dict(order)

        def to_avro(order: Order) -> bytes:
            out = io.BytesIO()
            fastavro.schemaless_writer(out, AVRO, order)
            return out.getvalue()

        def from_protobuf(data: bytes) -> Order:
            order = message.FromString(data)
            return {name: getattr(order, name) for name in fields}

        yield [
            Format("JSON", lambda order: json.dumps(order).encode(), json.loads, "nothing"),
            Format("Avro", to_avro, from_avro, "the schema of the writer"),
            Format(
                "Protobuf",
                lambda order: bytes(message(**order).SerializeToString()),
                from_protobuf,
                "the message's class",
            ),
        ]


def measure(format_: Format, given: list[Order]) -> Measured:
    """Encode all, decode all, and find them again."""
    began = time.process_time()
    encoded = [format_.encode(order) for order in given]
    between = time.process_time()
    decoded = [format_.decode(data) for data in encoded]
    ended = time.process_time()
    check(decoded == given, f"{format_.name} gives every order back")
    per_order = 1_000_000 / len(given)
    size = sum(map(len, encoded))
    return Measured(size, (between - began) * per_order, (ended - between) * per_order)


def story() -> None:
    say(f"{ORDERS:,} orders, three formats")
    given = orders()
    with formats() as known:
        found = {each.name: measure(each, given) for each in known}
        print("\nFORMAT    BYTES AN ORDER  µs TO WRITE  µs TO READ  A READER NEEDS")
        for each in known:
            size, encode_us, decode_us = found[each.name]
            figures = f"{size / ORDERS:14.1f}  {encode_us:11.2f}  {decode_us:10.2f}"
            print(f"{each.name:8}  {figures}  {each.reader_needs}")
    say("What a choice costs")
    json_, avro, protobuf = (found[name].size for name in ("JSON", "Avro", "Protobuf"))
    check(
        avro < protobuf < json_, "Avro is the smallest: it writes no names and no numbers of them"
    )
    check(json_ > 2 * avro, "JSON takes more than twice its bytes, on disk, on the wire, in memory")


if __name__ == "__main__":
    alone(story)
