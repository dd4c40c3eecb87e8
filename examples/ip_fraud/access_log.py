"""Lines of a web server's log, and how they become records.

A line in Apache's format has ten columns, split on single blanks:

    COLUMN  0       1      2     3       4     5        6    7          8       9
    HOLDS   client  ident  user  [date   zone] "method  url  protocol"  status  bytes

A record is the same line with an address drawn at random in the place of the client, the columns
joined by a comma and a blank, and every square bracket removed. A few lines are therefore enough
for any number of different records. Nothing here knows a broker or a clock.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Final, NamedTuple

COLUMNS: Final = 10
SEPARATOR: Final = ", "
_BRACKETS: Final = str.maketrans("", "", "[]")


class Request(NamedTuple):
    """One record of the topic, with the address that was drawn for it."""

    address: str
    text: str


def template_lines() -> list[str]:
    """The lines that every run of the generator begins with."""
    text = (files(__package__) / "IP_LOG.log").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line]


def transform(line: str, address: str) -> str:
    """The record of a line: another client, commas for blanks, no square brackets."""
    columns = line.split(" ")
    columns[0] = address
    return SEPARATOR.join(columns).translate(_BRACKETS)


def random_address(chance: random.Random) -> str:
    """Four octets, each equally likely from 0 to 255."""
    return ".".join(str(octet) for octet in chance.getrandbits(32).to_bytes(4))


def requests(
    lines: Sequence[str], chance: random.Random, *, returning: float = 0.0
) -> Iterator[Request]:
    """Records without end: line after line, again and again.

    `returning` is the share of requests that come from an address which was there before; without
    it, hardly any address of four random octets is ever seen twice.
    """
    known: list[str] = []
    while True:
        for line in lines:
            if returning and known and chance.random() < returning:
                address = known[int(chance.random() * len(known))]
            else:
                address = random_address(chance)
            if returning:
                known.append(address)
            yield Request(address, transform(line, address))
