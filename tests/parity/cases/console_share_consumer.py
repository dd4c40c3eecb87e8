"""`kafka-console-share-consumer`."""

from __future__ import annotations

from typing import Any

from headrace.admin.client import Changes
from headrace.admin.settings import Resource
from headrace.cli.asking import connect
from headrace.cli.target import parse_target
from tests.parity.case import Case
from tests.parity.stage import Stage, records, topic


def _from_the_start(stage: Stage) -> None:
    values = {"share.auto.offset.reset": "earliest"}
    with connect(parse_target(stage.bootstrap, [])) as admin:
        for group in ("workers", "console-share-consumer"):
            admin.alter_settings([Changes(Resource.GROUP, group, values)])


JOBS = (topic("jobs"), records("jobs", [("a", "one"), ("b", "two")]), _from_the_start)


def case(words: str, **more: Any) -> Case:
    more = {"setup": JOBS, **more}
    words = "--bootstrap-server {bootstrap} " + words
    return Case("kafka-console-share-consumer", words, **more)


CASES = [
    case("--topic jobs --group workers --max-messages 2"),
    case("--topic jobs --max-messages 1"),
    case("--topic jobs --group workers --max-messages 2 --reject"),
    case(
        "--topic jobs --group workers --max-messages 4 --release "
        "--formatter-property print.delivery=true --formatter-property print.key=true"
    ),
    case("--topic jobs --group workers --max-messages 2 --property print.offset=true"),
    case("--topic jobs --group workers --timeout-ms 500", setup=(topic("jobs"),)),
    case("--topic jobs --reject --release"),
    case("--topic jobs --group a --command-property group.id=b"),
    case("--group workers"),
    case("--topic jobs --nonsense"),
]
