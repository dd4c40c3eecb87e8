"""What was received and not yet processed, in the memory of executors, each block in two of them.

The executors live and die with the driver, as they do in Spark: whoever drops the `BlockManager`
has lost all blocks.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

Row: TypeAlias = tuple[bytes | None, bytes | None]  # key and value
Place: TypeAlias = tuple[str, int]  # topic and partition
REPLICAS: Final = 2


class Block(NamedTuple):
    """Records that were received together, and where reading goes on after them."""

    id: str
    rows: tuple[Row, ...]
    positions: Mapping[Place, int]


class NotReplicated(RuntimeError):
    """A block could not be stored often enough; its records count as unread."""


class BlockManager:
    """Executors by name, each with the blocks in its memory."""

    def __init__(self, executors: int = 2) -> None:
        self._executors: dict[str, dict[str, Block]] = {
            f"executor-{number}": {} for number in range(executors)
        }
        self._lock = threading.Lock()

    def store(self, block: Block) -> None:
        """Keep the block in the memory of two executors."""
        with self._lock:
            homes = sorted(self._executors.values(), key=len)[:REPLICAS]
            if len(homes) < REPLICAS:
                raise NotReplicated(
                    f"block {block.id} needs {REPLICAS} executors, and there are {len(homes)}"
                )
            for memory in homes:
                memory[block.id] = block

    def lose(self, executor: str) -> None:
        """An executor dies with its memory."""
        del self._executors[executor]

    def copies(self, block_id: str) -> list[str]:
        return [name for name, memory in self._executors.items() if block_id in memory]

    def pending(self) -> list[Block]:
        """Every block that some executor still has, in the order of arrival."""
        with self._lock:
            memories = [dict(memory) for memory in self._executors.values()]
        found = {block_id: block for memory in memories for block_id, block in memory.items()}
        return [found[block_id] for block_id in sorted(found)]

    def drop(self, block_id: str) -> None:
        with self._lock:
            for memory in self._executors.values():
                memory.pop(block_id, None)
