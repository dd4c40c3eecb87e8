"""Important stocks have the last partition to themselves; all others share the rest.

In Java this is a class named in the producer's settings, which also gets the settings that Kafka
does not know (`importantStocks`). librdkafka calls no Python for a record, so here it is a function
that names the partition when the record is handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from examples.labs.java_hashes import string_hash

Partitioner: TypeAlias = Callable[[str, int], int]  # key and number of partitions


def stock_price_partitioner(settings: Mapping[str, str]) -> Partitioner:
    """The rule for these important stocks, a list with commas."""
    important = frozenset(name.strip() for name in settings["importantStocks"].split(","))

    def choose(key: str, partitions: int) -> int:
        last = partitions - 1
        if key in important or last == 0:
            return last
        return abs(string_hash(key)) % last

    return choose
