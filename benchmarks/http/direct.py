"""Avro records sent by confluent-kafka with its serializer, so many in flight at a time.

    python -m benchmarks.http.direct BOOTSTRAP REGISTRY_URL TOPIC IN_FLIGHT SECONDS < records

Standard input has one record a line, as JSON; its first line is the schema. A record's latency is
from the call of the serializer to the report of its delivery, whose place the next record takes.
Prints one line of JSON as `load` does.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import cycle
from statistics import quantiles

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

_WARM_SHARE = 0.25


def main() -> None:
    bootstrap, url, topic, in_flight, seconds_text = sys.argv[1:]
    seconds = float(seconds_text)
    schema = sys.stdin.readline()
    records = cycle([json.loads(line) for line in sys.stdin])
    serializer = AvroSerializer(SchemaRegistryClient({"url": url}), schema)
    where = SerializationContext(topic, MessageField.VALUE)
    producer = Producer({"bootstrap.servers": bootstrap})
    latencies: list[float] = []
    counted_from = time.perf_counter() + seconds * _WARM_SHARE
    end = counted_from + seconds

    def send() -> None:
        began = time.perf_counter()

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                raise SystemExit(str(error))
            if began >= counted_from:
                latencies.append(time.perf_counter() - began)
            if time.perf_counter() < end:
                send()

        producer.produce(topic, serializer(next(records), where), on_delivery=delivered)

    for _ in range(int(in_flight)):
        send()
    while time.perf_counter() < end:
        producer.poll(0.1)
    producer.flush(30)
    cuts = quantiles(latencies, n=100)
    told = {"requests": len(latencies), "seconds": seconds}
    print(json.dumps(told | {"p50_ms": cuts[49] * 1000, "p99_ms": cuts[98] * 1000}))


if __name__ == "__main__":
    main()
