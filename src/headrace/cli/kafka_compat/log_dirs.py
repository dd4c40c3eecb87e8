"""`kafka-log-dirs`: the disks of brokers and what lies on them, as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, Final

from headrace.cli.administration.client import Admin
from headrace.cli.administration.records import LogDir, log_dirs
from headrace.cli.kafka_compat.administering import (
    CONNECTING,
    Told,
    bare,
    complain,
    need,
    open_admin,
    read_flags,
)
from headrace.cli.kafka_compat.flags import Given, Takes
from headrace.cli.kafka_compat.java_errors import java_name
from headrace.errors import Error, HeadraceError

FLAGS: Final = {
    **CONNECTING,
    "--describe": Takes.NOTHING,
    "--topic-list": Takes.VALUE,
    "--broker-list": Takes.VALUE,
}
_EXAMPLE: Final = "kafka-log-dirs --bootstrap-server localhost:9092 --describe --topic-list orders"


def run(words: list[str]) -> int:
    try:
        given = read_flags("kafka-log-dirs", words, FLAGS, _EXAMPLE)
        if given is None:
            return 0
        need(given, "--bootstrap-server", "--describe")
        topics = _listed(given, "--topic-list")
        asked = _listed(given, "--broker-list")
        if not all(each.isdecimal() for each in asked):
            raise Told(f"--broker-list takes the ids of brokers such as 0,1, not {','.join(asked)}")
        with open_admin(
            given.needed("--bootstrap-server"), given.text("--command-config")
        ) as admin:
            _describe(admin, [int(each) for each in asked], topics)
    except HeadraceError as error:
        return complain(bare(error))
    return 0


def _listed(given: Given, flag: str) -> list[str]:
    return [each for each in (given.text(flag) or "").split(",") if each]


def _describe(admin: Admin, asked: Collection[int], topics: Collection[str]) -> None:
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
