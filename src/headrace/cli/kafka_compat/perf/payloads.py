"""What a measured producer sends: random letters, lines of a file, or numbers.

Random values are pieces of one random text, so that making one is a copy and no more; Kafka's tool
draws every letter.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

from headrace.cli.kafka_compat.administering import Told

_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_POOL_BYTES: Final = 1 << 20
_PRIME: Final = 7919
"""How far the next piece begins from the last: it shares no factor with the pool's size."""


def random_letters(size: int) -> Iterator[bytes]:
    """Values of this size without an end."""
    draw = random.Random(0)
    pool = bytes(draw.choices(_LETTERS, k=_POOL_BYTES)) * (1 + -(-size // _POOL_BYTES))
    start = 0
    while True:
        yield pool[start : start + size]
        start = (start + _PRIME) % _POOL_BYTES


def numbers() -> Iterator[bytes]:
    return (b"%d" % number for number in count())


def drawn_from(payloads: list[bytes]) -> Iterator[bytes]:
    draw = random.Random(0)
    while True:
        yield draw.choice(payloads)


def read_payloads(path: str, delimiter: str) -> list[bytes]:
    """The values in a file, told as Kafka's tool tells it."""
    file = Path(path)
    print(f"Reading payloads from: {file.absolute()}")
    if not file.exists() or file.stat().st_size == 0:
        raise Told("File does not exist or empty file provided.")
    text = file.read_text(encoding="utf-8", errors="replace")
    pieces = text.removesuffix(delimiter).split(delimiter)
    print(f"Number of records read: {len(pieces)}")
    return [piece.encode() for piece in pieces]
