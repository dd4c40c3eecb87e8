"""Topics that the cleaner compacts at once, so that a lab need not wait for it.

A segment is complete when its first record is older than `segment.ms`; records of a lab are an hour
old when they are written. The cleaner waits for no share of dirty records here, and the stage's
broker has it look ten times in a second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final

from examples.labs.reading import Record, read_topic
from examples.labs.staging import await_so
from examples.topics import Draft, create_topic, send

AGE_MS: Final = 3_600_000
EAGER: Final = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "60000",
}


def create_compacted(
    servers: str, topic: str, *, partitions: int = 1, config: Mapping[str, str] | None = None
) -> None:
    create_topic(servers, topic, partitions=partitions, config={**EAGER, **(config or {})})


def write_old(servers: str, topic: str, records: Iterable[tuple[str, str | None]]) -> None:
    """Keys and values, written an hour ago; None deletes a key."""
    then_ms = int(time.time() * 1000) - AGE_MS
    send(servers, topic, [Draft(value, key, then_ms) for key, value in records])


def await_compacted(servers: str, topic: str) -> list[Record]:
    """Return the records when no key is there twice."""
    found: list[Record] = []

    def is_compacted() -> bool:
        found[:] = read_topic(servers, topic)
        return len({record.key for record in found}) == len(found)

    await_so(is_compacted, f"{topic} has been compacted: no key is there twice")
    return found
