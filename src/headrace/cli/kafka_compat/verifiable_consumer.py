"""`kafka-verifiable-consumer`: a member of a group that tells everything it is given, as JSON."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from headrace.cli.kafka import open_consumer
from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.arguments import error_of, need_arguments, read_arguments
from headrace.cli.kafka_compat.clients import kafka_target
from headrace.cli.kafka_compat.events import configured, emit
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.signals import counted
from headrace.cli.kafka_compat.tool import Tool, Work, left_to_main

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka import Consumer, Message

_BATCH: Final = 500
_POLL_S: Final = 0.2


def _plan(given: Given) -> Work:
    servers = given.text("--bootstrap-server", "--broker-list")
    if servers is None:
        raise Told("one of the arguments --bootstrap-server is required")
    need_arguments(given, "--topic", "--group-id")
    return _Run(given, open_consumer(kafka_target(servers, _settings(given)), {})).run


def _settings(given: Given) -> dict[str, str]:
    settings = configured(given, "--consumer.config")
    protocol = (given.text("--group-protocol") or "classic").lower()
    if protocol == "consumer":
        settings["group.protocol"] = protocol
        if assignor := given.text("--group-remote-assignor"):
            settings["group.remote.assignor"] = assignor
    else:
        settings["partition.assignment.strategy"] = given.text("--assignment-strategy") or "range"
        settings["session.timeout.ms"] = given.text("--session-timeout") or "30000"
    settings["group.id"] = given.needed("--group-id")
    if instance := given.text("--group-instance-id"):
        settings["group.instance.id"] = instance
    settings["enable.auto.commit"] = "true" if given.has("--enable-autocommit") else "false"
    reset = given.text("--reset-policy") or "earliest"
    settings["auto.offset.reset"] = "error" if reset == "none" else reset
    return settings


class _Run:
    """One run: reads, tells, and commits what it has told."""

    def __init__(self, given: Given, consumer: Consumer) -> None:
        self._consumer = consumer
        self._topic = given.needed("--topic")
        most = given.number("--max-messages")
        self._most = -1 if most is None else most
        self._verbose = given.has("--verbose")
        self._commits = not given.has("--enable-autocommit")
        self._count = 0

    def run(self) -> int:
        emit("startup_complete")
        with counted() as signals:
            try:
                self._consumer.subscribe([self._topic], on_assign=_on_assign, on_revoke=_on_revoke)
                while not signals and (self._most < 0 or self._count < self._most):
                    self._poll()
            finally:
                self._consumer.close()
                emit("shutdown_complete")
        return 128 + signals[0] if signals else 0

    def _poll(self) -> None:
        left = _BATCH if self._most < 0 else self._most - self._count
        messages = self._consumer.consume(min(left, _BATCH), timeout=_POLL_S)
        records = [message for message in messages if message.error() is None]
        if records:
            self._count += len(records)
            self._tell(records)

    def _tell(self, records: Sequence[Message]) -> None:
        summaries = []
        for where, group in groupby(sorted(records, key=_where), key=_where):
            of_partition = list(group)
            if self._verbose:
                for message in of_partition:
                    emit("record_data", **_record(message))
            summaries.append(
                {
                    **_place(*where),
                    "count": len(of_partition),
                    "minOffset": of_partition[0].offset(),
                    "maxOffset": of_partition[-1].offset(),
                }
            )
        emit("records_consumed", count=len(records), partitions=summaries)
        if self._commits:
            self._commit(summaries)

    def _commit(self, summaries: list[dict[str, Any]]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        offsets = [
            {**_place(each["topic"], each["partition"]), "offset": each["maxOffset"] + 1}
            for each in summaries
        ]
        places = [
            TopicPartition(each["topic"], each["partition"], each["offset"]) for each in offsets
        ]
        try:
            self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            emit("offsets_committed", offsets=offsets, error=error.args[0].str(), success=False)
        else:
            emit("offsets_committed", offsets=offsets, success=True)


def _where(message: Message) -> tuple[str, int]:
    return message.topic() or "", message.partition() or 0


def _place(topic: str, partition: int) -> dict[str, Any]:
    return {"topic": topic, "partition": partition}


def _record(message: Message) -> dict[str, Any]:
    key, value = message.key(), message.value()
    return {
        "key": None if key is None else key.decode(errors="replace"),
        "value": None if value is None else value.decode(errors="replace"),
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
    }


def _on_assign(_consumer: Consumer, partitions: list[Any]) -> None:
    emit(
        "partitions_assigned",
        partitions=[_place(each.topic, each.partition) for each in partitions],
    )


def _on_revoke(_consumer: Consumer, partitions: list[Any]) -> None:
    emit(
        "partitions_revoked", partitions=[_place(each.topic, each.partition) for each in partitions]
    )


run: Final = Tool(
    "kafka-verifiable-consumer",
    flags(
        "--topic= --bootstrap-server= --broker-list= --group-id= --group-protocol= "
        "--group-remote-assignor= --group-instance-id= --max-messages= --session-timeout= "
        "--verbose --enable-autocommit --reset-policy= --assignment-strategy= --consumer.config= "
        "--command-config="
    ),
    "--bootstrap-server localhost:9092 --topic orders --group-id readers",
    _plan,
    refused=error_of("verifiable-consumer"),
    failed=left_to_main,
    read=read_arguments,
)
