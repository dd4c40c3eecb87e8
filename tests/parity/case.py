"""One command line that Kafka's tool and ours must answer alike.

A module of `cases/` belongs to one tool and has a list `CASES`:

    def case(words: str, **more: Any) -> Case:
        return Case("kafka-topics", "--bootstrap-server {bootstrap} " + words, **more)

    CASES = [
        case("--describe --topic orders", setup=(topic("orders", partitions=3),)),
        case("--delete --topic orders", setup=(topic("orders"),), then="--list"),
    ]

Each side gets the same empty broker, on which the steps of `setup` have just been done; afterwards
topics, groups and dynamic settings are removed again. Words may name `{bootstrap}`, `{host}`,
`{port}`, `{folder}` (a folder of this case alone; `file()` writes into it) and `{data}` (where the
broker keeps its partitions). What differs from run to run is replaced before the comparison:
identifiers, times, the port, the folders (`normal.py`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.parity.stage import Stage

HELP = "asked for, help goes to stdout and is no failure; Kafka's goes to stderr and ends with 1"

Step = Callable[["Stage"], None]


@dataclass(frozen=True)
class Case:
    """One command line, what it finds, and what may differ."""

    tool: str  # "kafka-topics"
    words: str | Sequence[str]  # a text is split as a shell does
    stdin: str = ""
    setup: tuple[Step, ...] = ()
    # What is asked afterwards with the same tool, to see that both did the same: the words after
    # `--bootstrap-server`. Its answer is compared as well.
    then: str = ""
    # What is not compared, of: "order" (of lines), "spaces" (widths of columns), "numbers" (any is
    # as good as another), "tail" (all but the first line).
    loose: tuple[str, ...] = ()
    stderr: bool = False  # compare that stream, too
    brokers: int = 1  # or 3
    differs: str = ""  # why our answer is another than Kafka's; shown in the report
    name: str = ""  # needed where two cases have the same words
    timeout_s: float = 30.0

    @property
    def key(self) -> str:
        """What a recording calls this case; unique within its tool."""
        return self.name or (self.words if isinstance(self.words, str) else shlex.join(self.words))

    def argv(self, **places: object) -> list[str]:
        """The words, with the names of places filled in."""
        words = shlex.split(self.words) if isinstance(self.words, str) else self.words
        return [_filled(word, places) for word in words]

    def argv_then(self, **places: object) -> list[str]:
        words = ["--bootstrap-server", "{bootstrap}", *shlex.split(self.then)]
        return [_filled(word, places) for word in words]


def _filled(word: str, places: dict[str, object]) -> str:
    # Not str.format: words are JSON and regular expressions, too.
    for name, value in places.items():
        word = word.replace(f"{{{name}}}", str(value))
    return word
