"""`kafka-delete-records`: forget the beginning of partitions, as a JSON file says."""

from __future__ import annotations

import json
from typing import Any, Final

from headrace.admin.client import Admin
from headrace.admin.faults import Fault
from headrace.admin.records import delete_records
from headrace.cli.kafka_compat.administering import CONNECTING, Told, need
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import as_exception
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.cli.small_files import read_text
from headrace.types import TopicPartition

_VERSION: Final = 1


def _plan(given: Given) -> Work:
    servers = servers_of(given)
    need(given, "--offset-json-file")
    before = parse_offsets(read_text(given.needed("--offset-json-file"), failure=Told))

    def delete(admin: Admin, _given: Given) -> None:
        print("Executing records delete operation")
        outcome = delete_records(admin, before)
        print("Records delete operation completed:")
        for place, result in sorted(outcome.items()):
            if isinstance(result, Fault):
                print(f"partition: {place}\terror: {as_exception(Fault(result.error, ''))}")
            else:
                print(f"partition: {place}\tlow_watermark: {result}")

    return on_cluster(given, servers, delete)


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """`{"partitions": [{"topic": "orders", "partition": 1, "offset": 100}], "version": 1}`."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        raise Told("The input string is not a valid JSON") from None
    if not isinstance(document, dict) or "partitions" not in document:
        raise Told("Missing partitions field")
    version = document.get("version", _VERSION)
    if version != _VERSION:
        raise Told(f"Not supported version field value {version}")
    offsets: dict[TopicPartition, int] = {}
    twice = []
    for entry in document["partitions"]:
        place, offset = _entry(entry)
        if place in offsets:
            twice.append(str(place))
        offsets[place] = offset
    if twice:
        listed = ",".join(dict.fromkeys(twice))
        raise Told(f"Offset json file contains duplicate topic partitions: {listed}")
    return offsets


def _entry(entry: Any) -> tuple[TopicPartition, int]:
    try:
        place = TopicPartition(entry["topic"], entry["partition"])
        offset = entry["offset"]
    except (TypeError, KeyError) as error:
        raise Told(f"{entry!r} has no {error}; topic, partition and offset are needed") from None
    if not (isinstance(place.topic, str) and type(place.partition) is type(offset) is int):
        raise Told(f"{entry!r} is not a topic with the numbers of a partition and an offset")
    return place, offset


run: Final = Tool(
    "kafka-delete-records",
    flags(CONNECTING, OF_THE_PAST, "--offset-json-file="),
    "--bootstrap-server localhost:9092 --offset-json-file offsets.json",
    _plan,
)
