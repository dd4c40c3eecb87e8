"""What a topology is: spouts that bring tuples, bolts that work on them, and how they are joined.

A description only: it holds factories, because every task of every worker has a spout or bolt of
its own. Nothing here runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol


class Tuple(NamedTuple):
    """Values with the names that their sender declared; `root` is the spout's record behind it."""

    source: str
    fields: tuple[str, ...]
    values: tuple[Any, ...]
    root: int | None

    def value(self, name: str) -> Any:
        return self.values[self.fields.index(name)]


class Collector(Protocol):
    """How a bolt answers. Every tuple must be acknowledged or failed, or its record comes again."""

    def emit(self, values: Sequence[Any], anchor: Tuple | None = None) -> None: ...
    def ack(self, done: Tuple) -> None: ...
    def fail(self, failed: Tuple) -> None: ...


class Message(NamedTuple):
    """What a spout hands out. Without an id it is not tracked and never comes again."""

    values: tuple[Any, ...]
    id: Any = None


class Spout(Protocol):
    """Reads a source. `ack` and `fail` say what became of a message with an id.

    After `deactivate` no more messages are taken, and `close` follows.
    """

    fields: tuple[str, ...]

    def open(self) -> None: ...
    def next_message(self) -> Message | None: ...
    def ack(self, message_id: Any) -> None: ...
    def fail(self, message_id: Any) -> None: ...
    def deactivate(self) -> None: ...
    def close(self) -> None: ...


class Bolt:
    """Works on one tuple at a time; `tick` is called when there is nothing to do."""

    fields: ClassVar[tuple[str, ...]] = ()

    def prepare(self, collector: Collector) -> None:
        self.collector = collector

    def execute(self, taken: Tuple) -> None:
        raise NotImplementedError

    def tick(self) -> None:
        """Flush, poll, look at the clock."""

    def cleanup(self) -> None:
        """The topology ends."""


class Link(NamedTuple):
    """Tuples of `source` go to a bolt: to any of its tasks, or by the value of a field."""

    source: str
    field: str | None = None


@dataclass(slots=True)
class BoltSpec:
    name: str
    factory: Callable[[], Bolt]
    parallelism: int = 1
    links: list[Link] = field(default_factory=list)

    def shuffle_grouping(self, source: str) -> BoltSpec:
        """Tuples are dealt out evenly."""
        self.links.append(Link(source))
        return self

    def fields_grouping(self, source: str, name: str) -> BoltSpec:
        """Tuples with the same value of a field meet in the same task."""
        self.links.append(Link(source, name))
        return self


@dataclass(slots=True)
class Topology:
    """A graph of one spout and any number of bolts."""

    spout_name: str = ""
    spout: Callable[[], Spout] | None = None
    bolts: dict[str, BoltSpec] = field(default_factory=dict)

    def set_spout(self, name: str, factory: Callable[[], Spout]) -> None:
        self.spout_name, self.spout = name, factory

    def set_bolt(self, name: str, factory: Callable[[], Bolt], parallelism: int = 1) -> BoltSpec:
        spec = self.bolts[name] = BoltSpec(name, factory, parallelism)
        return spec
