"""Received blocks on a disk, until they are processed: what a new driver begins with.

One file per block, complete or not there at all. It stores everything a second time, beside the
broker's own log; that is the price of the receiver.
"""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from examples.receiver.blocks import Block, Row


class WriteAheadLog:
    """A folder of blocks, in the order of their names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def append(self, block: Block) -> None:
        """Returns when the block is on the disk."""
        unfinished = self._folder / f"{block.id}.unfinished"
        with unfinished.open("w", encoding="utf-8") as file:
            json.dump(_to_json(block), file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(self._folder / f"{block.id}.json")

    def blocks(self) -> list[Block]:
        files = sorted(self._folder.glob("*.json"))
        return [_from_json(json.loads(file.read_text(encoding="utf-8"))) for file in files]

    def remove(self, block_id: str) -> None:
        (self._folder / f"{block_id}.json").unlink(missing_ok=True)

    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self._folder.glob("*.json"))


def _to_json(block: Block) -> dict[str, object]:
    return {
        "id": block.id,
        "rows": [[_encode(part) for part in row] for row in block.rows],
        "positions": [[topic, partition, at] for (topic, partition), at in block.positions.items()],
    }


def _from_json(found: dict[str, list[list[str]]]) -> Block:
    rows: tuple[Row, ...] = tuple((_decode(key), _decode(value)) for key, value in found["rows"])
    positions = {(topic, int(partition)): int(at) for topic, partition, at in found["positions"]}
    return Block(str(found["id"]), rows, positions)


def _encode(part: bytes | None) -> str | None:
    return None if part is None else base64.b64encode(part).decode("ascii")


def _decode(part: str | None) -> bytes | None:
    return None if part is None else base64.b64decode(part)
