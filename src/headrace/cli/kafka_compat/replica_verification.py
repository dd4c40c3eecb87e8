"""`kafka-replica-verification`: read all replicas of topics, side by side, and compare them.

It runs until Ctrl-C and tells now and then how far the comparison lags behind. Apache Kafka had it
until its version 3.9; documents of the time before also call it kafka-replica-validation, with the
flag `--topic-white-list`, and print a partition as [orders,0].
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from headrace.admin.client import Admin
from headrace.admin.copies import Copy, OffsetsDiffer, compare
from headrace.admin.records import led_offsets
from headrace.admin.views import TopicView, by_topic
from headrace.cli.kafka_compat.administering import FAILED, Told, as_whole_number, need
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.cli.kafka_compat.topics import topic_pattern
from headrace.errors import Error, HeadraceError
from headrace.types import TopicPartition
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

REPORT_INTERVAL_MS: Final = 30_000
_LATEST: Final = -1
_NO_RACK: Final = "replica-verification"
_PAUSE_S: Final = 0.2


def plan_with(clock: Callable[[], float]) -> Callable[[Given], Work]:
    """What the tool does, by this clock."""

    def plan(given: Given) -> Work:
        if not given.has("--bootstrap-server"):
            need(given, "--broker-list")
        servers = given.needed("--broker-list", "--bootstrap-server")
        return on_cluster(given, servers, lambda admin, given: _verify(admin, given, clock))

    return plan


def _verify(admin: Admin, given: Given, clock: Callable[[], float]) -> int:
    pattern = topic_pattern(given.text("--topics-include", "--topic-white-list") or ".*")
    topics = [topic for topic in admin.topics() if pattern.fullmatch(topic.name)]
    if not topics:
        raise Told("No topics found: the filter leaves out all of them, or there is none.")
    name = _old_name if given.has("--topic-white-list") else str
    verification = Verification(
        admin,
        topics,
        start_time=_number(given, "--time", _LATEST),
        fetch_bytes=_number(given, "--fetch-size", 1 << 20),
        max_wait_ms=_number(given, "--max-wait-ms", 1_000),
    )
    _say(f"verification process is started{'.' if given.has('--topic-white-list') else ''}")
    interval_s = _number(given, "--report-interval-ms", REPORT_INTERVAL_MS) / 1000
    reported = clock()
    while True:
        if not verification.round(name):
            return FAILED
        if clock() - reported > interval_s:
            lag, where, offset = verification.max_lag()
            count = len(verification.offsets)
            _say(
                f"max lag is {lag} for partition {name(where)} at offset {offset} among "
                f"{count} partitions"
            )
            reported = clock()


def _number(given: Given, flag: str, default: int) -> int:
    number = as_whole_number(given, flag)
    return default if number is None else number


class Verification:
    """Reads round by round; in each, every broker is asked for all that it has."""

    def __init__(
        self,
        admin: Admin,
        topics: Sequence[TopicView],
        *,
        start_time: int,
        fetch_bytes: int,
        max_wait_ms: int,
    ) -> None:
        self._admin = admin
        self._ids = {topic.name: topic.id for topic in topics}
        self._names = {topic.id: topic.name for topic in topics}
        self._fetch_bytes = fetch_bytes
        self._max_wait_ms = max_wait_ms
        self._replicas = {
            TopicPartition(topic.name, each.number): each.replicas
            for topic in topics
            for each in topic.partitions
        }
        starts = led_offsets(admin, self._replicas, start_time)
        self.offsets = {where: max(offset, 0) for where, offset in starts.items()}
        self._high_watermarks = dict(self.offsets)

    def round(self, name: Callable[[TopicPartition], str]) -> bool:
        """Fetch and compare once; False if replicas differ so that no more can be compared."""
        answers = self._fetch_all()
        for where, copies in answers.items():
            self._high_watermarks[where] = max(copy.high_watermark for copy in copies.values())
            if len(copies) < len(self._replicas[where]):
                continue  # A broker is away: the lag grows until it is back.
            next_offset, differences = compare(copies)
            if next_offset is not None:
                self.offsets[where] = next_offset
            for each in differences:
                if isinstance(each, OffsetsDiffer):
                    _say(
                        f"partition {name(where)}: replica {each.replica}'s offset {each.offset} "
                        f"doesn't match replica {each.other}'s offset {each.other_offset}"
                    )
                    return False
                _say(
                    f"partition {name(where)} has unmatched checksum at offset {each.offset}; "
                    f"replica {each.replica}'s checksum {each.checksum}; "
                    f"replica {each.other}'s checksum {each.other_checksum}"
                )
        return True

    def max_lag(self) -> tuple[int, TopicPartition, int]:
        """How far the comparison is behind a high watermark, where most, and at which offset."""
        lags = {
            where: self._high_watermarks[where] - offset for where, offset in self.offsets.items()
        }
        worst = max(sorted(lags), key=lambda where: lags[where])
        return lags[worst], worst, self.offsets[worst]

    def _fetch_all(self) -> dict[TopicPartition, dict[int, Copy]]:
        brokers = sorted({each for replicas in self._replicas.values() for each in replicas})
        replies = {}
        for broker in brokers:
            try:
                replies[broker] = self._admin.connection(broker).request(self._request(broker))
            except HeadraceError:
                continue  # It is away.
        found: dict[TopicPartition, dict[int, Copy]] = {}
        for broker, reply in replies.items():
            try:
                answer = reply.result()
            except HeadraceError:
                continue
            for topic in answer.responses:
                for each in topic.partitions:
                    where = TopicPartition(self._name(topic), each.partition_index)
                    if each.error_code == Error.NONE:
                        copy = Copy(each.records or b"", each.high_watermark)
                        found.setdefault(where, {})[broker] = copy
        if any(len(found.get(where, ())) < len(all_) for where, all_ in self._replicas.items()):
            time.sleep(_PAUSE_S)  # Who is away, or has not heard of a topic yet, answers at once.
        return found

    def _name(self, topic: Any) -> str:
        return str(topic.topic or self._names[topic.topic_id])

    def _request(self, broker: int) -> FetchRequest:
        here = [where for where, replicas in self._replicas.items() if broker in replicas]
        topics = [
            FetchTopic(
                topic=name,
                topic_id=self._ids[name],
                partitions=[self._wanted(TopicPartition(name, number)) for number in numbers],
            )
            for name, numbers in by_topic(here).items()
        ]
        # A follower answers who names a rack (KIP-392); in this one there is nobody to be sent to.
        return FetchRequest(
            max_wait_ms=self._max_wait_ms, min_bytes=1, topics=topics, rack_id=_NO_RACK
        )

    def _wanted(self, where: TopicPartition) -> FetchPartition:
        return FetchPartition(
            partition=where.partition,
            fetch_offset=self.offsets[where],
            partition_max_bytes=self._fetch_bytes,
        )


def _old_name(where: TopicPartition) -> str:
    return f"[{where.topic},{where.partition}]"


def _say(text: str) -> None:
    now = datetime.now().astimezone()
    print(f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}: {text}")
    sys.stdout.flush()


run: Final = Tool(
    "kafka-replica-verification",
    flags(
        "--broker-list= --bootstrap-server= --command-config= --topics-include= "
        "--topic-white-list= --time= --fetch-size= --max-wait-ms= --report-interval-ms="
    ),
    "--broker-list localhost:9092 --topics-include orders",
    plan_with(time.monotonic),
)
