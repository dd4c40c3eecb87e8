"""A stock price, its text, and the tickers that the producer makes up."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "stock-prices"
PARTITIONS: Final = 3


@dataclass(frozen=True, slots=True)
class StockPrice:
    """What a share costs."""

    dollars: int
    cents: int
    name: str

    def to_json(self) -> str:
        """{"dollars": 68, "cents": 37, "name": "IBM"}, with these blanks."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> StockPrice:
        return cls(**json.loads(text))


class Ticker(NamedTuple):
    """A share and the bounds of its price, both included."""

    name: str
    dollars: tuple[int, int]
    cents: tuple[int, int] = (10, 99)

    def price(self, chance: Random) -> StockPrice:
        """Dollars and cents are drawn independently."""
        return StockPrice(chance.randint(*self.dollars), chance.randint(*self.cents), self.name)


TICKERS: Final = (
    Ticker("IBM", (50, 100)),
    Ticker("SUN", (50, 100)),
    Ticker("INEL", (50, 100)),
    Ticker("GOOG", (400, 500)),
)
