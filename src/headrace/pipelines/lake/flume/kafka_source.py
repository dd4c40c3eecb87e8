"""The Kafka source: a member of a group, whose offsets follow what sinks have safe.

Keys of Flume 1.7 and later are kafka.bootstrap.servers, kafka.topics, kafka.topics.regex and
kafka.consumer.*; those of 1.6 were zookeeperConnect, topic, groupId and kafka.*.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from headrace.client.consuming import Consumption, GroupConsumer, is_expelled
from headrace.client.reading import Read
from headrace.client.settings import ClientSettings, client_settings
from headrace.errors import ConfigError, HeadraceError
from headrace.java.regex import compile_java
from headrace.pipelines.columns.decode import decode_in_pieces
from headrace.pipelines.lake.flume.components import Deliver, Surroundings
from headrace.pipelines.lake.flume.event import Event, Receipt
from headrace.pipelines.lake.jobs.properties import Properties
from headrace.pipelines.source.gaps import Unfilled
from headrace.pipelines.source.selection import select
from headrace.pipelines.source.split import OffsetRange
from headrace.types import TopicPartition

KNOWN: Final = frozenset(
    {
        *("type", "channels", "interceptors", "selector.type", "batchSize", "batchDurationMillis"),
        *("kafka.bootstrap.servers", "kafka.topics", "kafka.topics.regex", "setTopicHeader"),
        *("zookeeperConnect", "topic", "groupId", "topicHeader", "useFlumeEventFormat"),
    }
)
PREFIXES: Final = ("interceptors.", "kafka.consumer.", "kafka.")
_NO_END: Final = 2**63 - 1
_OF_CONSUMERS: Final = frozenset({"group.id", "auto.offset.reset", "isolation.level"})


@dataclass(slots=True)
class _Pending:
    """A batch that was handed on: offsets `start` to before `end` of a partition."""

    start: int
    end: int
    receipt: Receipt


class KafkaSource:
    """Offsets are committed up to the first event that is not yet safe."""

    def __init__(self, name: str, settings: Properties, around: Surroundings) -> None:
        self._name = name
        self._around = around
        self.remarks = settings.remarks(KNOWN, prefixes=PREFIXES)
        self._batch_size = settings.number("batchSize", 1000, at_least=1)
        self._batch_ms = settings.number("batchDurationMillis", 1000, at_least=1)
        self._topic_header = settings.text("topicHeader", "topic")
        self._sets_topic = settings.flag("setTopicHeader", True)
        if settings.flag("useFlumeEventFormat", False):
            raise settings.wrong("useFlumeEventFormat", "false (bodies are the values as they are)")
        self._pending: dict[TopicPartition, deque[_Pending]] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._consumption = _consumption(settings)
        self._consumer = GroupConsumer(
            _client(name, settings, around),
            self._consumption,
            on_assigned=self._assigned,
            on_revoked=self._revoked,
            on_lost=self._lost,
        )

    def run(self, deliver: Deliver) -> None:
        self._consumer.start()
        while not self._around.stopping.is_set():
            reads = self._consumer.poll()
            if self._consumer.fault is not None:
                self._around.tell(f"source {self._name}: {self._consumer.fault}")
            for read in reads:
                self._deliver(read, deliver)
            self._settle()

    def close(self) -> None:
        self._consumer.close()  # gives its partitions up, and commits before it does

    def _deliver(self, read: Read, deliver: Deliver) -> None:
        assert read.fetched is not None
        topic, partition = read.place
        wanted = OffsetRange(topic, partition, read.offset, _NO_END)
        committed = self._consumption.read_committed
        found = select(read.fetched, wanted, read_committed=committed, unfilled=Unfilled())
        at = read.offset
        for rows in decode_in_pieces(
            found.data,
            topic=topic,
            partition=partition,
            first_offset=read.offset,
            end_offset=_NO_END,
            headers=True,
        ):
            for start in range(0, rows.num_rows, self._batch_size):
                part = rows.slice(start, self._batch_size)
                at = self._hand_on(read.place, at, part, deliver)
        self._consumer.advance(read.place, found.next_offset)
        pending = self._pending.setdefault(read.place, deque())
        if found.next_offset > at:  # what holds no record is done when all before it is
            pending.append(_Pending(at, found.next_offset, Receipt()))

    def _hand_on(
        self,
        place: TopicPartition,
        at: int,
        rows: pa.RecordBatch,
        deliver: Deliver,
    ) -> int:
        receipt = Receipt(rows.num_rows)
        events = list(self._events(place, rows, receipt))
        end = int(rows.column("offset")[-1].as_py()) + 1
        self._pending.setdefault(place, deque()).append(_Pending(at, end, receipt))
        deliver(events)
        return end

    def _events(
        self, place: TopicPartition, rows: pa.RecordBatch, receipt: Receipt
    ) -> Iterator[Event]:
        common = {"partition": str(place.partition)}
        if self._sets_topic:
            common[self._topic_header] = place.topic
        times = rows.column("timestamp").cast(pa.int64()).to_pylist()
        columns = (rows.column(name).to_pylist() for name in ("offset", "key", "value", "headers"))
        for time, offset, key, value, carried in zip(times, *columns, strict=True):
            headers = {
                **{
                    each["key"]: (each["value"] or b"").decode(errors="replace")
                    for each in carried or ()
                },
                **common,
                "timestamp": str(time // 1000),
                "offset": str(offset),
            }
            if key is not None:
                headers["key"] = key.decode(errors="replace")
            yield Event(value or b"", headers, receipt)

    # -- what is safe -----------------------------------------------------------------------------

    def _settle(self) -> None:
        """Commit what sinks have safe; read again what one of them has lost."""
        news = {}
        for place, pending in self._pending.items():
            if any(each.receipt.is_lost for each in pending):
                self._consumer.advance(place, pending[0].start)
                pending.clear()
            while pending and pending[0].receipt.is_settled:
                news[place] = pending.popleft().end
        news = {place: at for place, at in news.items() if self._committed.get(place) != at}
        if not news:
            return
        try:
            self._consumer.commit(news)
        except HeadraceError as fault:
            if not is_expelled(fault):
                raise
            self._around.tell(f"source {self._name}: the group has moved on: {fault}")
        self._committed |= news

    def _assigned(self, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        self._lost(places)
        return {}

    def _revoked(self, places: Collection[TopicPartition]) -> None:
        try:
            self._settle()
        finally:
            self._lost(places)

    def _lost(self, places: Collection[TopicPartition]) -> None:
        self._pending.clear()
        self._committed.clear()


def _client(name: str, settings: Properties, around: Surroundings) -> ClientSettings:
    servers = settings.text("kafka.bootstrap.servers")
    zookeeper = settings.text("zookeeperConnect")
    if not servers and zookeeper and around.brokers_in_zookeeper is not None:
        servers = around.brokers_in_zookeeper(zookeeper)
    if not servers:
        settings.required("kafka.bootstrap.servers", "the brokers, as host:port")
    given = {
        key: text
        for key, text in settings.below("kafka.consumer.").items()
        if key not in _OF_CONSUMERS
    }
    made, _ = client_settings({"client.id": name, **given, "bootstrap.servers": servers})
    return made


def _consumption(settings: Properties) -> Consumption:
    consumer = settings.below("kafka.consumer.")
    names = settings.names("kafka.topics") or settings.names("topic")
    regex = settings.text("kafka.topics.regex")
    if not names and not regex:
        settings.required("kafka.topics", "the topics to read, several by commas")
    try:
        pattern = compile_java(regex) if regex else None
    except (ValueError, re.error) as fault:
        raise ConfigError(f"{settings.shown('kafka.topics.regex')} is {regex!r}: {fault}") from None
    return Consumption(
        consumer.text("group.id", settings.text("groupId", "flume")),
        topics=() if pattern is not None else tuple(names),
        pattern=pattern,
        read_committed=consumer.text("isolation.level") == "read_committed",
        reset=consumer.choice("auto.offset.reset", "earliest", ("earliest", "latest", "none")),
        session_timeout_ms=consumer.number("session.timeout.ms", 45_000, at_least=1),
        heartbeat_interval_ms=consumer.number("heartbeat.interval.ms", 3_000, at_least=1),
        rebalance_timeout_ms=consumer.number("max.poll.interval.ms", 300_000, at_least=1),
        max_wait_ms=consumer.number(
            "fetch.max.wait.ms", settings.number("batchDurationMillis", 1000, at_least=1) // 2
        ),
    )
