"""`kafka-delete-records`."""

from __future__ import annotations

import json
from typing import Any

from tests.parity.case import HELP, Case, Step
from tests.parity.stage import file, records, topic

SOME = (topic("orders", 2), records("orders", ["a", "b", "c"]))


def offsets(*entries: tuple[str, int, int], **more: Any) -> Step:
    listed = [dict(zip(("topic", "partition", "offset"), each, strict=True)) for each in entries]
    return file("offsets.json", json.dumps({"partitions": listed, **more}))


def case(name: str, *setup: Step, **more: Any) -> Case:
    words = "--bootstrap-server {bootstrap} --offset-json-file {folder}/offsets.json"
    return Case("kafka-delete-records", words, name=name, setup=(*SOME, *setup), **more)


CASES = [
    case("before an offset", offsets(("orders", 0, 2))),
    case("all there are", offsets(("orders", 0, -1))),
    case(
        "of two partitions",
        offsets(("orders", 0, 1), ("orders", 1, 0), version=1),
        loose=("order",),
    ),
    case("behind the end", offsets(("orders", 0, 99))),
    case("twice", offsets(("orders", 0, 1), ("orders", 0, 2))),
    case("of a version from the future", offsets(("orders", 0, 1), version=2)),
    case("of no JSON", file("offsets.json", "nonsense")),
    case("without partitions", file("offsets.json", "{}")),
    case("without a file"),
    Case("kafka-delete-records", "--bootstrap-server {bootstrap}"),
    Case("kafka-delete-records", ""),
    Case("kafka-delete-records", "--help", differs=HELP),
]
