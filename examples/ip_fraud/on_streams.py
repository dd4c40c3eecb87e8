"""IP fraud without any engine: a consumer, a filter and a producer in one transaction.

    python -m examples.ip_fraud.on_streams

Reads `iprecord` and writes the fraud records, with their keys, to `fraudIp`. What was read is
committed together with what was written, so each fraud record is in the output once, whatever
fails. Start it as often as you like: instances share the partitions.
"""

from __future__ import annotations

import logging
import signal
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from confluent_kafka import Consumer, KafkaException, Message, Producer

from examples.ip_fraud.properties import PropertyReader
from examples.ip_fraud.rules import CacheIPLookup, is_fraud
from examples.ip_fraud.traffic import Plan, batches
from examples.java_settings import open_client
from examples.leaving import leave
from examples.topics import Draft, broker, named_servers, provide

LOGGER = logging.getLogger(__name__)
Predicate: TypeAlias = Callable[[bytes | None, str], bool]
STRING_SERDE: Final = "org.apache.kafka.common.serialization.Serdes$StringSerde"
POLL_S: Final = 0.2
MAX_RECORDS: Final = 500
TIMEOUT_S: Final = 30.0
TRANSACTION_TIMEOUT_MS: Final = 10_000
SAMPLE: Final = Plan(seed=7, ticks=50, begin_ms=1_078_786_800_000)


def stream_settings(servers: str) -> dict[str, str]:
    """The configuration of the application; a client leaves out what is not for it."""
    return {
        "application.id": "IP-Fraud-Detection",
        "bootstrap.servers": servers,
        "zookeeper.connect": "localhost:2181",
        "default.key.serde": STRING_SERDE,
        "default.value.serde": STRING_SERDE,
    }


@dataclass(frozen=True, slots=True)
class FilterStream:
    """`stream(topic).filter(keep).to(output)`."""

    topic: str
    keep: Predicate
    output: str

    def apply(self, message: Message) -> tuple[bytes | None, str] | None:
        """The key and value to be written, if any."""
        key: Any = message.key()
        value = _text(message)
        return (key, value) if self.keep(key, value) else None


def fraud_stream(properties: PropertyReader) -> FilterStream:
    scanner = CacheIPLookup()
    return FilterStream(
        properties.get("topic") or "iprecord",
        lambda _key, value: is_fraud(value, scanner),
        properties.get("output_topic") or "fraudIp",
    )


class StreamsApp:
    """One instance of the application: `start` returns at once, `close` ends it in order."""

    def __init__(self, stream: FilterStream, settings: dict[str, str]) -> None:
        self._stream = stream
        self._closing = threading.Event()
        application = settings["application.id"]
        shared = {key: value for key, value in settings.items() if key != "application.id"}
        self._consumer = open_client(
            Consumer,
            shared
            | {
                "group.id": application,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            },
        )
        # Offsets carry the group's generation, which fences an instance that lost its partitions.
        self._producer = open_client(
            Producer,
            shared
            | {
                "transactional.id": f"{application}-{uuid.uuid4()}",
                "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
            },
        )
        self._thread = threading.Thread(target=self._run, name=application)
        self.fault: BaseException | None = None
        self.assigned: set[int] = set()

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        if self.fault is not None:
            raise self.fault

    def _run(self) -> None:
        try:
            self._producer.init_transactions(TIMEOUT_S)
            self._consumer.subscribe(
                [self._stream.topic], on_assign=self._on_assign, on_revoke=self._on_revoke
            )
            while not self._closing.is_set():
                messages = self._consumer.consume(MAX_RECORDS, POLL_S)
                if messages:
                    self._process(messages)
        except BaseException as fault:
            self.fault = fault
            LOGGER.error("the application ends: %s", fault)
        finally:
            leave(self._consumer)
            self._producer.close()

    def _process(self, messages: list[Message]) -> None:
        """Write what is kept and what was read in one transaction."""
        self._producer.begin_transaction()
        try:
            for message in messages:
                if message.error() is not None:
                    raise KafkaException(message.error())
                kept = self._stream.apply(message)
                if kept is not None:
                    self._producer.produce(self._stream.output, kept[1], kept[0])
            self._producer.send_offsets_to_transaction(
                self._consumer.position(self._consumer.assignment()),
                self._consumer.consumer_group_metadata(),
                TIMEOUT_S,
            )
            self._producer.commit_transaction(TIMEOUT_S)
        except KafkaException as fault:
            if not fault.args[0].txn_requires_abort():
                raise
            self._producer.abort_transaction(TIMEOUT_S)
            self._rewind()
        except Exception:
            self._producer.abort_transaction(TIMEOUT_S)  # else readers wait for its time-out
            raise

    def _rewind(self) -> None:
        """Read again what the aborted transaction had read."""
        for position in self._consumer.committed(self._consumer.assignment(), TIMEOUT_S):
            if position.offset < 0:
                position.offset = self._consumer.get_watermark_offsets(position, TIMEOUT_S)[0]
            self._consumer.seek(position)

    def _on_assign(self, _consumer: Consumer, partitions: list[Any]) -> None:
        self.assigned = {place.partition for place in partitions}

    def _on_revoke(self, _consumer: Consumer, _partitions: list[Any]) -> None:
        self.assigned = set()


def _text(message: Message) -> str:
    value: Any = message.value()
    return (value or b"").decode("utf-8", "replace")


def main() -> None:
    named = named_servers(__doc__)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stream = fraud_stream(PropertyReader("streams.properties"))
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stopped.set())
    with broker(named) as servers:
        sample = (Draft(request.text) for batch in batches(SAMPLE) for request in batch.requests)
        provide(stream.topic, sample)
        provide(stream.output)
        app = StreamsApp(stream, stream_settings(servers))
        app.start()
        LOGGER.info("%s -> %s on %s; Ctrl-C ends it", stream.topic, stream.output, servers)
        stopped.wait()
        app.close()


if __name__ == "__main__":
    main()
