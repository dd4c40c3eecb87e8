"""The broker under test as the nemesis sees it: something that is killed and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from headrace.testing import Broker
from tests.chaos.exactly_once.client import SESSION_TIMEOUT_MS
from tests.kafka.apache_kafka import ApacheKafka, classpath

# Short time-outs, so that what a killed client held is free again within seconds.
PROPERTIES = {
    "num.partitions": "4",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class Victim(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...

    def start(self) -> object:
        """Start on the data and the port of the life before; return when it answers."""

    def kill(self) -> None:
        """End it as a power cut does."""


class KafkaVictim:
    """Apache Kafka, to know what the test finds in the original."""

    def __init__(self, folder: Path) -> None:
        self._kafka = ApacheKafka(classpath(), folder, PROPERTIES)

    @property
    def bootstrap_servers(self) -> str:
        return self._kafka.bootstrap_servers

    def start(self) -> None:
        self._kafka.__enter__()

    def kill(self) -> None:
        self._kafka.stop(kill=True)


def victim(kind: str, folder: Path) -> Victim:
    """A broker of this kind: headrace or kafka."""
    return KafkaVictim(folder) if kind == "kafka" else Broker(PROPERTIES, data=folder)
