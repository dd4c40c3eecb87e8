"""`kafka-verifiable-producer`: increasing numbers, and a line of JSON for what became of each."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.kafka import open_producer
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.arguments import error_of, need_arguments, read_arguments
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.events import configured, emit
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import java_name
from headrace.cli.kafka_compat.perf.pacing import Pace
from headrace.cli.kafka_compat.signals import counted
from headrace.cli.kafka_compat.tool import Tool, Work, left_to_main
from headrace.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import KafkaError, Message, Producer

_FLUSH_S: Final = 60.0
_WAIT_S: Final = 0.05


def _plan(given: Given) -> Work:
    need_arguments(given, "--topic")
    servers = given.text("--bootstrap-server", "--broker-list")
    if servers is None:
        raise Told("one of the arguments --bootstrap-server is required")
    acks = given.text("--acks") or "-1"
    if acks not in ("0", "1", "-1"):
        raise Told(f"argument --acks: invalid choice: '{acks}' (choose from {{0,1,-1}})")
    settings = {"acks": acks, "retries": "0", **configured(given, "--producer.config")}
    return _Run(given, open_producer(kafka_target(servers, settings), {"linger.ms": 5})).run


class _Run:
    """One run: what was sent, and what was acknowledged."""

    def __init__(self, given: Given, producer: Producer) -> None:
        self._producer = producer
        self._topic = given.needed("--topic")
        most = given.number("--max-messages")
        self._most = -1 if most is None else most
        per_s = given.number("--throughput")
        self._per_s = -1 if per_s is None else per_s
        prefix = given.number("--value-prefix")
        self._prefix = "" if prefix is None else f"{prefix}."
        self._keys = given.number("--repeating-keys")
        create_ms = given.number("--message-create-time")
        self._create_ms = None if create_ms is None or create_ms == -1 else create_ms
        self._sent = self._acked = 0

    def run(self) -> int:
        start_s = time.time()
        emit("startup_complete")
        with counted() as signals:
            self._send_all(signals, start_s)
            # What is under way is waited for, also after a signal.
            self._producer.flush(_FLUSH_S)
        emit("shutdown_complete")
        emit(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._per_s,
            avg_throughput=self._acked / max(time.time() - start_s, 0.001),
        )
        return 128 + signals[0] if signals else 0

    def _send_all(self, signals: list[int], start_s: float) -> None:
        pace = Pace(self._per_s, time.monotonic())
        for number in count() if self._most < 0 else range(self._most):
            if signals:
                return
            key = None if self._keys is None else str(number % self._keys)
            self._send(key, f"{self._prefix}{number}", start_s)
            self._producer.poll(0)
            while (ahead_s := pace.ahead_s(number + 1, time.monotonic())) > 0 and not signals:
                self._producer.poll(min(ahead_s, _WAIT_S))

    def _send(self, key: str | None, value: str, start_s: float) -> None:
        from confluent_kafka import KafkaException

        more: dict[str, Any] = {}
        if self._create_ms is not None:
            more["timestamp"] = self._create_ms
            self._create_ms += int((time.time() - start_s) * 1000)
        self._sent += 1
        while True:
            try:
                self._producer.produce(
                    self._topic, value, key, on_delivery=self._on_delivery(key, value), **more
                )
                return
            except BufferError:
                self._producer.poll(_WAIT_S)
            except KafkaException as error:
                self._failed(key, value, error.args[0])
                return

    def _on_delivery(
        self, key: str | None, value: str
    ) -> Callable[[KafkaError | None, Message], None]:
        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._failed(key, value, error)
                return
            self._acked += 1
            emit(
                "producer_send_success",
                key=key,
                value=value,
                offset=message.offset(),
                topic=self._topic,
                partition=message.partition(),
            )

        return on_delivery

    def _failed(self, key: str | None, value: str, error: KafkaError) -> None:
        emit(
            "producer_send_error",
            key=key,
            value=value,
            topic=self._topic,
            exception=f"class {_java_class(error)}",
            message=error.str(),
        )


def _java_class(error: KafkaError) -> str:
    """Java's exception for a broker's error; librdkafka's own are time-outs of some kind."""
    code = error.code()
    known = {each.value for each in Error}
    return java_name(Error(code) if code in known else Error.REQUEST_TIMED_OUT)


run: Final = Tool(
    "kafka-verifiable-producer",
    flags(
        "--topic= --bootstrap-server= --broker-list= --max-messages= --throughput= --acks= "
        "--producer.config= --command-config= --message-create-time= --value-prefix= "
        "--repeating-keys="
    ),
    "--bootstrap-server localhost:9092 --topic orders --max-messages 100",
    _plan,
    refused=error_of("verifiable-producer"),
    failed=left_to_main,
    read=read_arguments,
)
