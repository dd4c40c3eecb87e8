"""`kafka-share-consumer-perf-test`."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case
from tests.parity.cases.console_share_consumer import JOBS
from tests.parity.stage import topic


def case(words: str, **more: Any) -> Case:
    more = {"setup": JOBS, "loose": ("numbers",), **more}
    words = "--bootstrap-server {bootstrap} " + words
    return Case("kafka-share-consumer-perf-test", words, **more)


CASES = [
    case("--topic jobs --group workers --num-records 2"),
    case("--topic jobs --group workers --num-records 2 --hide-header --show-consumer-stats"),
    case("--topic jobs --num-records 2 --timeout 500", setup=(topic("jobs"),)),
    case("--topic jobs --group workers --messages 2"),
    case("--topic jobs"),
    case("--num-records 2"),
]
