"""Rows whose values say their offsets, and what a lake holds of them."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import fastavro
import pyarrow as pa
from pyarrow import parquet

from headrace.pipelines.lake.rows import Rows

HOUR_MS = 3_600_000


class Hands:
    """A clock that a test sets."""

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self.ms = now_ms

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms


def numbers(
    first: int, count: int, *, topic: str = "t", partition: int = 0, step_ms: int = 1000
) -> Rows:
    """Structs of their own offset and a colour, `step_ms` apart."""
    offsets = range(first, first + count)
    values = pa.array(
        [{"n": at, "colour": ("red", "green", "blue")[at % 3]} for at in offsets],
        pa.struct([pa.field("n", pa.int64(), nullable=False), pa.field("colour", pa.string())]),
    )
    times = pa.array([at * step_ms for at in offsets], pa.int64())
    return Rows(topic, partition, values, pa.array(offsets, pa.int64()), times)


def lines(first: int, count: int, *, topic: str = "t", partition: int = 0) -> Rows:
    """The same as JSON lines."""
    made = numbers(first, count, topic=topic, partition=partition)
    texts = pa.array([json.dumps(value) for value in made.values.to_pylist()])
    return Rows(topic, partition, texts, made.offsets, made.times)


def files(root: Path, topic: str = "t") -> list[str]:
    """The published files of a topic."""
    folder = root / "topics" / topic
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def held(name: str, data: bytes) -> list[dict[str, object]]:
    """The records of a file."""
    if name.endswith(".avro"):
        return list(fastavro.reader(io.BytesIO(data)))  # type: ignore[arg-type]
    if name.endswith(".parquet"):
        return list(parquet.read_table(io.BytesIO(data)).to_pylist())
    return [json.loads(line) for line in data.decode().splitlines()]


def all_held(root: Path, topic: str = "t") -> list[dict[str, object]]:
    """The records of a topic, file by file."""
    folder = root / "topics" / topic
    return [record for name in files(root, topic) for record in held(name, _read(folder / name))]


def _read(path: Path) -> bytes:
    return path.read_bytes()


def offsets(records: Iterable[dict[str, object]]) -> Counter[object]:
    """How often each offset is there."""
    return Counter(record["n"] for record in records)
