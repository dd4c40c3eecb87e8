"""`kafka-verifiable-consumer`; the producer of its kind prints after its process has ended."""

from __future__ import annotations

from typing import Any

from tests.parity.case import Case
from tests.parity.stage import records, topic

ORDERS = (topic("orders"), records("orders", ["0", "1", "2"]))
READ = "--topic orders --group-id g --max-messages 3"


def case(words: str, **more: Any) -> Case:
    words = "--bootstrap-server {bootstrap} " + words
    return Case("kafka-verifiable-consumer", words, **{"setup": ORDERS, **more})


CASES = [
    case(READ),
    case(f"{READ} --verbose"),
    case(f"{READ} --enable-autocommit --session-timeout 10000"),
    case(f"{READ} --group-protocol consumer"),
]
