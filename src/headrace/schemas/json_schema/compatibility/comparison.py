"""The walk over two schemas at once: pairs that hold, pairs that failed, and a bound on the work.

Schemas are graphs, so a pair is trusted to hold from the moment its comparison begins, as one does
for recursive types. Should it fail, everything that was found to hold since may have relied on it
and is forgotten; a failure is kept, because trust can hide a difference but never make one. Both
the work and the depth are bounded, and what goes beyond is reported as a difference: a check that
never answers would hold up everyone else. What the keywords mean is left to the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from headrace.schemas.json_schema.compatibility.kinds import Kind, is_safe
from headrace.schemas.json_schema.documents import Node
from headrace.schemas.json_schema.drafts import accepts_everything
from headrace.schemas.json_schema.patterns import PatternRefused, search

if TYPE_CHECKING:
    from headrace.schemas.json_schema.compatibility.shapes import Shape

Path = tuple[str, ...]
Key = int | bool

MAX_STEPS: Final = 40_000
MAX_DEPTH_OF_PAIRS: Final = 90


class Absent(Enum):
    """Marks a side that has no such keyword, where None would be JSON's null."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Difference:
    """What the schemas say differently; `before` is the writer's side, `after` the reader's."""

    kind: Kind
    path: Path
    before: object = ABSENT
    after: object = ABSENT
    note: str = ""


TOO_COMPLEX: Final = Difference(
    "COMBINED_TYPE_SUBSCHEMAS_CHANGED",
    (),
    note=(
        "The {reader} schema and the {writer} schema are too large or too deep to be compared; "
        "split them or name their parts"
    ),
)

Rule = Callable[["Comparison", Node, Node, Path], list[Difference]]


class Comparison:
    """One check of a reader against a writer under one policy."""

    def __init__(self, rule: Rule, *, lenient: bool) -> None:
        self._rule = rule
        self._lenient = lenient
        self._trusted: dict[tuple[Key, Key], None] = {}
        self._failed: dict[tuple[Key, Key], list[Difference]] = {}
        self._depth = 0
        self._steps = 0
        self._derived: dict[tuple[Key, str], Node] = {}
        self.implied_types: dict[int, frozenset[str]] = {}
        self.shapes: dict[Key, Shape] = {}

    def is_safe(self, found: Difference) -> bool:
        """Whether the policy tolerates the difference."""
        return not found.note and is_safe(found.kind, lenient=self._lenient)

    def all_safe(self, found: Iterable[Difference]) -> bool:
        """Whether the policy tolerates them all."""
        return all(self.is_safe(each) for each in found)

    def fits(self, writer: Node, reader: Node, path: Path) -> bool:
        """Whether every value of the writer's schema is one of the reader's."""
        return self.all_safe(self.compare(writer, reader, path))

    def compare(self, writer: Node, reader: Node, path: Path) -> list[Difference]:
        """What is different between the two schemas at this place, if it was not told before."""
        writer, reader = follow(writer), follow(reader)
        pair = (key_of(writer), key_of(reader))
        if pair in self._trusted:
            return []
        if pair in self._failed:
            return self._failed[pair]
        if not self.spend(1) or self._depth >= MAX_DEPTH_OF_PAIRS:
            return [TOO_COMPLEX]
        self._trusted[pair] = None
        self._depth += 1
        found = self._rule(self, writer, reader, path)
        self._depth -= 1
        if not self.all_safe(found):
            while self._trusted.popitem()[0] != pair:
                pass
            self._failed[pair] = found
        return found

    def spend(self, steps: int) -> bool:
        """Count work against the bound; False once it is used up."""
        self._steps += steps
        return self._steps <= MAX_STEPS

    @property
    def is_exhausted(self) -> bool:
        """Whether the bound was reached, so that nothing is proven any more."""
        return self._steps > MAX_STEPS

    def matches(self, pattern: str, name: str) -> bool:
        """Whether a pattern speaks of a property; if that cannot be told, nothing is proven."""
        if not self.spend(1):
            return False
        try:
            return search(pattern, name)
        except PatternRefused:
            self._steps = MAX_STEPS + 1
            return False

    def restricted(self, node: Node, type_name: str) -> Node:
        """The schema for values of one type only."""
        if node.schema is False:
            return node
        keywords = node.schema if isinstance(node.schema, dict) else {}
        return self._derive(node, type_name, {**keywords, "type": type_name})

    def part(self, node: Node, keywords: frozenset[str]) -> Node:
        """The schema with some of its keywords only."""
        assert isinstance(node.schema, dict)
        kept = {name: each for name, each in node.schema.items() if name in keywords}
        return self._derive(node, " ".join(sorted(kept)), kept)

    def _derive(self, node: Node, name: str, schema: dict[str, Any]) -> Node:
        # Kept, because pairs are remembered by the identity of their schemas.
        derived = Node(schema, node.draft, node.resolver, node.documents)
        return self._derived.setdefault((key_of(node), name), derived)


def follow(node: Node) -> Node:
    """What a schema stands for that is nothing but a reference."""
    while True:
        reference = node.draft.reference(node.schema)
        if reference is None or not (node.draft.reference_stands_alone or _is_bare(node)):
            return node
        target = node.target()
        assert target is not None
        node = target


def key_of(node: Node) -> Key:
    """What tells schemas apart: their identity, and for booleans their value."""
    return node.schema if isinstance(node.schema, bool) else id(node.schema)


def _is_bare(node: Node) -> bool:
    assert isinstance(node.schema, dict)
    beside = {name: each for name, each in node.schema.items() if name not in node.draft.references}
    count = len(node.schema) - len(beside)
    return count == 1 and accepts_everything(beside, node.draft)
