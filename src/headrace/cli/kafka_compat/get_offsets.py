"""`kafka-get-offsets`: an offset of each partition: its end, its beginning, or that of a time."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection
from typing import Final

from headrace.admin.client import Admin
from headrace.admin.faults import Fault
from headrace.admin.records import offset_at, offsets_at
from headrace.cli.kafka_compat.administering import CONNECTING, Told, bare, complain
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import as_exception
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.cli.kafka_compat.topics import topic_pattern
from headrace.client.faults import BrokerRefused, TimedOut, UnknownTopic
from headrace.types import TopicPartition

_TIMES: Final = {
    "latest": -1,
    "earliest": -2,
    "max-timestamp": -3,
    "earliest-local": -4,
    "latest-tiered": -5,
    "earliest-pending-upload": -6,
}
_RULE: Final = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")
_NO_OFFSET: Final = -1

Wanted = Callable[[TopicPartition], bool]


def _plan(given: Given) -> Work:
    servers = servers_of(given)
    wanted = _filter(given)
    time_ms = parse_time(given.text("--time") or "latest")

    def show(admin: Admin, given: Given) -> None:
        for line in _lines(admin, given, wanted, time_ms):
            print(line)

    return on_cluster(given, servers, show)


def parse_time(text: str) -> int:
    """A name, its number, or milliseconds."""
    if text in _TIMES:
        return _TIMES[text]
    if not text.removeprefix("-").isdecimal():
        names = " / ".join(f"{number} or {name}" for name, number in _TIMES.items())
        raise Told(
            f"Malformed time argument {text}. Please use {names}, or a specified long format "
            "timestamp"
        )
    return int(text)


def _filter(given: Given) -> Wanted:
    rules = given.text("--topic-partitions")
    if rules is not None:
        if given.has("--topic") or given.has("--partitions"):
            raise Told("--topic-partitions cannot be used with --topic or --partitions")
        each = [parse_rule(rule) for rule in rules.split(",")]
        return lambda place: any(is_wanted(place) for is_wanted in each)
    pattern = topic_pattern(given.text("--topic") or ".*")
    numbers = _numbers(given.text("--partitions"))
    return lambda place: (
        pattern.fullmatch(place.topic) is not None and (not numbers or place.partition in numbers)
    )


def _numbers(text: str | None) -> set[int]:
    parts = text.split(",") if text else []
    if not all(part.isdecimal() for part in parts):
        raise Told(
            "--partitions expects a comma separated list of numeric partition ids, but received: "
            f"{text}"
        )
    return {int(part) for part in parts}


def parse_rule(rule: str) -> Wanted:
    """`orders:3`, `orders:2-5` (without 5), `orders:2-`, `orders:-5`, `orders`, `:3`."""
    match = _RULE.fullmatch(rule)
    if match is None:
        raise Told(f"Invalid rule specification: {rule}")
    pattern = topic_pattern(match[1] or ".*")
    if match[2]:
        numbers = range(int(match[2]), int(match[2]) + 1)
    else:
        numbers = range(int(match[3] or 0), int(match[4] or 1 << 31))
    return lambda place: pattern.fullmatch(place.topic) is not None and place.partition in numbers


def _lines(admin: Admin, given: Given, wanted: Wanted, time_ms: int) -> list[str]:
    places = [
        TopicPartition(topic.name, each.number)
        for topic in admin.topics()
        if not (topic.is_internal and given.has("--exclude-internal-topics"))
        for each in topic.partitions
        if wanted(TopicPartition(topic.name, each.number))
    ]
    if not places:
        raise Told("Could not match any topic-partitions with the specified filters")
    found = _offsets(admin, places, time_ms)
    # By the text of the name, as Kafka's tool: partition 10 comes before partition 2.
    return [f"{place.topic}:{place.partition}:{found[place]}" for place in sorted(found, key=str)]


def _offsets(
    admin: Admin, places: Collection[TopicPartition], time_ms: int
) -> dict[TopicPartition, int]:
    """All at once; one by one where somebody does not answer, to tell who."""
    found: dict[TopicPartition, int] = {}
    try:
        found = {place: each.offset for place, each in offsets_at(admin, places, time_ms).items()}
    except (BrokerRefused, UnknownTopic, TimedOut):
        for place in places:
            one = offset_at(admin, place, time_ms)
            if isinstance(one, Fault):
                print(
                    f"Skip getting offsets for topic-partition {place} due to error: "
                    f"{as_exception(one)}",
                    file=sys.stderr,
                )
            else:
                found[place] = one.offset
    return {place: offset for place, offset in found.items() if offset != _NO_OFFSET}


run: Final = Tool(
    "kafka-get-offsets",
    flags(
        CONNECTING,
        OF_THE_PAST,
        "--topic-partitions= --topic= --partitions= --time= --exclude-internal-topics",
    ),
    "--bootstrap-server localhost:9092 --topic orders --time -2",
    _plan,
    refused=lambda error: complain(f"Error occurred: {bare(error)}"),
)
