"""`kafka-log-dirs`: the disks of brokers and what lies on them, as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, Final

from headrace.admin.client import Admin
from headrace.admin.records import LogDir, log_dirs
from headrace.cli.kafka_compat.administering import CONNECTING, Told, need
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import java_name
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.errors import Error


def _plan(given: Given) -> Work:
    need(given, "--bootstrap-server", "--describe")
    asked = _listed(given, "--broker-list")
    if not all(each.isdecimal() for each in asked):
        raise Told(f"--broker-list takes the ids of brokers such as 0,1, not {','.join(asked)}")
    return on_cluster(given, given.needed("--bootstrap-server"), _describe)


def _listed(given: Given, flag: str) -> list[str]:
    return [each for each in (given.text(flag) or "").split(",") if each]


def _describe(admin: Admin, given: Given) -> None:
    asked = [int(each) for each in _listed(given, "--broker-list")]
    topics = _listed(given, "--topic-list")
    live = admin.describe_cluster().ids
    if absent := sorted(set(asked) - live):
        raise Told(
            f"ERROR: The given brokers do not exist from --broker-list: {_joined(absent)}. "
            f"Current existent brokers: {_joined(sorted(live))}"
        )
    brokers = sorted(asked or live)
    print("Querying brokers for log directories information")
    found = {broker: log_dirs(admin, broker) for broker in brokers}
    print(f"Received log directory information from brokers {_joined(brokers)}")
    shown = [
        {"broker": broker, "logDirs": [_shown(each, topics) for each in folders]}
        for broker, folders in found.items()
    ]
    print(json.dumps({"brokers": shown, "version": 1}, separators=(",", ":")))


def _shown(folder: LogDir, topics: Collection[str]) -> dict[str, Any]:
    return {
        "partitions": [
            {
                "partition": str(each.place),
                "size": each.size,
                "offsetLag": each.offset_lag,
                "isFuture": each.is_future,
            }
            for each in folder.replicas
            if not topics or each.place.topic in topics
        ],
        "error": None if folder.error is Error.NONE else java_name(folder.error),
        "logDir": folder.path,
    }


def _joined(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


run: Final = Tool(
    "kafka-log-dirs",
    flags(CONNECTING, "--describe --topic-list= --broker-list="),
    "--bootstrap-server localhost:9092 --describe --topic-list orders",
    _plan,
)
