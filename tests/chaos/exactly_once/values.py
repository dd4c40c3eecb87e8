"""The names of records, so that the log itself tells where each came from.

    input    feeder-2.17            the 17th record of a feeder's life
    echo     worker-0.3.e9          sent back into the input by a worker's transaction
    output   feeder-2.17>worker-0.3.9   made of an input by the 9th attempt of that life

An input that is processed again after an abort becomes another value, so an aborted attempt can
be told from the one that committed. Knows nothing of clients.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

INPUT = "input"
OUTPUT = "output"
PARTITIONS = 4
TOPICS = (INPUT, OUTPUT)
KEYS = tuple(f"{topic}/{partition}" for topic in TOPICS for partition in range(PARTITIONS))
ECHO_ONE_IN = 8


def key_of(topic: str, value: str) -> str:
    """The partition that a value belongs to."""
    return f"{topic}/{zlib.crc32(value.encode()) % PARTITIONS}"


def split_key(key: str) -> tuple[str, int]:
    topic, _, partition = key.rpartition("/")
    return topic, int(partition)


def output_value(source: str, process: str, attempt: int) -> str:
    return f"{source}>{process}.{attempt}"


def echo_value(source: str, process: str, attempt: int) -> str | None:
    """The record that goes back into the input, for some inputs; an echo has none itself."""
    _, _, number = source.rpartition(".")
    wanted = number.isdigit() and int(number) % ECHO_ONE_IN == 0
    return f"{process}.e{attempt}" if wanted else None


@dataclass(frozen=True, slots=True)
class Ledger:
    """Inputs against outputs: exactly once means that both lists are empty."""

    inputs: int
    missing: list[str]
    doubled: list[str]

    @property
    def balanced(self) -> bool:
        return not self.missing and not self.doubled

    def __str__(self) -> str:
        parts = [f"{self.inputs} inputs"]
        for name, values in (("without output", self.missing), ("processed twice", self.doubled)):
            parts.append(
                f"{len(values)} {name}" + (f" ({', '.join(values[:5])})" if values else "")
            )
        return ", ".join(parts)


def balance(inputs: Iterable[str], outputs: Iterable[str]) -> Ledger:
    """Compare what was committed into the input with what came out."""
    made = Counter(output.partition(">")[0] for output in outputs)
    wanted = set(inputs)
    missing = sorted(value for value in wanted if value not in made)
    doubled = sorted(value for value, count in made.items() if count > 1 or value not in wanted)
    return Ledger(len(wanted), missing, doubled)
