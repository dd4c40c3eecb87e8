"""What an operation that changes something returns.

The store appends the writes, in order, and waits until they are replayed; only then is the reply
made, from the new state. An operation itself never changes the state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

Write = tuple[bytes, bytes | None]
"""Key and value of a record; a value of None deletes."""


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """Records to write, and the reply for when they are there.

    `writes` go to the topic of the schemas, `key_writes` to that of the encryption keys. Both are
    empty when nothing has to change.
    """

    writes: tuple[Write, ...]
    reply: Callable[[], T]
    key_writes: tuple[Write, ...] = ()
