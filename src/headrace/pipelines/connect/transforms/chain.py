"""The transforms of a connector, one after the other: `transforms=a,b`, and what they are set to.

A batch goes through in columns as long as each link can do it so, and then by records. A fault of
a record says which link it was and carries the record as it came to that link: who runs the chain
decides whether it is tolerated. A batch with a fault in it is a fault; the records of it that are
good are had by asking for them one by one.

| key | |
|---|---|
| `transforms` | the aliases of the links, in their order |
| `transforms.<alias>.type` | the class of a transform |
| `transforms.<alias>.predicate`, `.negate` | which records it is meant for |
| `transforms.<alias>.<key>` | a setting of the transform |
| `predicates`, `predicates.<alias>.type`, `predicates.<alias>.<key>` | the same of predicates |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from headrace.pipelines.connect.config.definition import Key, Kind, value_of
from headrace.pipelines.connect.faults import ConfigException, ConnectException
from headrace.pipelines.connect.model.batch import Batch, of_records
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.named import PREDICATES, TRANSFORMS, Plugin, named
from headrace.pipelines.connect.transforms.rows import merged, split
from headrace.pipelines.connect.transforms.transform import Predicate, Transform

_Built = TypeVar("_Built", Transform, Predicate)


class TransformFault(ConnectException):
    """A link failed for a record; the cause is what it raised."""

    def __init__(self, link: Link, record: Record, cause: Exception) -> None:
        super().__init__(f"transform {link.alias} ({link.class_name}): {cause}")
        self.alias = link.alias
        self.class_name = link.class_name
        self.record = record


@dataclass(frozen=True, slots=True)
class Link:
    """A transform under its alias, and the records that it is meant for: all, or a predicate's."""

    alias: str
    class_name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    def apply(self, record: Record) -> Record | None:
        """The record as it goes on, None if it is dropped; TransformFault if that fails."""
        try:
            if self.predicate is not None and self.predicate.test(record) == self.negate:
                return record
            return self.transform.apply(record)
        except Exception as fault:
            raise TransformFault(self, record, fault) from fault

    def apply_batch(self, batch: Batch) -> Sequence[Batch] | None:
        """The batch as it goes on; None if it has to go by records, because of a fault too."""
        try:
            if self.predicate is None:
                return self.transform.apply_batch(batch)
            mask = self.predicate.mask(batch) ^ self.negate
            if mask.all():
                return self.transform.apply_batch(batch)
            if not mask.any():
                return [batch]
            return self._apply_to_some(batch, mask)
        except Exception:  # which row it was, and whether that counts, the record form tells
            return None

    def _apply_to_some(self, batch: Batch, mask: npt.NDArray[np.bool_]) -> Sequence[Batch] | None:
        meant, others = split(batch, mask)
        made = self.transform.apply_batch(meant)
        return None if made is None else merged((*made, others))


@dataclass(frozen=True, slots=True)
class Chain:
    """The links of a connector, in their order."""

    links: tuple[Link, ...] = ()

    def apply(self, record: Record) -> Record | None:
        """The record as it goes on, None if a link dropped it; TransformFault if one failed."""
        going: Record | None = record
        for link in self.links:
            if going is None:
                return None
            going = link.apply(going)
        return going

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """The batch as it goes on; TransformFault of the first record that fails.

        Marks go with the last batch. If no row is left and there are marks, a batch without rows
        carries them.
        """
        if not self.links:
            return [batch]
        made = self._from(0, batch.but(marks=()))
        if not batch.marks:
            return made
        *before, last = made or [batch.slice(0, 0)]
        return [*before, last.but(marks=batch.marks)]

    def _from(self, place: int, batch: Batch) -> list[Batch]:
        """The batch as it leaves the links from `place` on."""
        if place == len(self.links) or not len(batch):
            return [batch] if len(batch) else []
        made = self.links[place].apply_batch(batch)
        if made is not None:
            return [left for each in made for left in self._from(place + 1, each)]
        rest = replace(self, links=self.links[place:])
        records = (rest.apply(record) for record in batch.records())
        return of_records(record for record in records if record is not None)


# --- settings ---

_TRANSFORMS: Final = Key("transforms", Kind.LIST, [])
_PREDICATES: Final = Key("predicates", Kind.LIST, [])
_PREDICATE: Final = Key("predicate", Kind.STRING, None)
_NEGATE: Final = Key("negate", Kind.BOOLEAN, False)


def read_chain(
    given: Mapping[str, object],
    *,
    for_sink: bool,
    transforms: Iterable[Plugin[Transform]] = (),
    predicates: Iterable[Plugin[Predicate]] = (),
) -> Chain:
    """The chain of a connector's settings; ConfigException for the first that is wrong.

    `transforms` and `predicates` are those that can be named beside Connect's own.
    """
    links = []
    known = (*TRANSFORMS, *transforms)
    for alias in _aliases(_TRANSFORMS, given):
        prefix = f"transforms.{alias}."
        plugin = _plugin(given, prefix, known, "Transformation")
        settings = _under(given, prefix)
        chosen = str(value_of(_PREDICATE, settings) or "")
        negate = bool(value_of(_NEGATE, settings))
        if _NEGATE.name in settings and _PREDICATE.name not in settings:
            raise ConfigException(
                f"Config '{prefix}negate' was provided but there is no config "
                f"'{prefix}predicate' defining a predicate to be negated."
            )
        transform = plugin.build(settings)
        transform.for_sink = for_sink
        predicate = None
        if chosen:
            predicate = _predicate(given, prefix, chosen, (*PREDICATES, *predicates))
        links.append(Link(alias, plugin.name, transform, predicate, negate))
    return Chain(tuple(links))


def _predicate(
    given: Mapping[str, object], prefix: str, alias: str, known: Sequence[Plugin[Predicate]]
) -> Predicate:
    if alias not in _aliases(_PREDICATES, given):
        raise ConfigException.of(
            f"{prefix}predicate", alias, "no such alias: name it in the setting predicates"
        )
    where = f"predicates.{alias}."
    return _plugin(given, where, known, "Predicate").build(_under(given, where))


def _aliases(key: Key, given: Mapping[str, object]) -> list[str]:
    aliases = value_of(key, given)
    assert isinstance(aliases, list)
    if len(set(aliases)) != len(aliases):
        shown = f"[{', '.join(aliases)}]"
        raise ConfigException.of(key.name, shown, "Duplicate alias provided.")
    return aliases


def _plugin(
    given: Mapping[str, object], prefix: str, known: Sequence[Plugin[_Built]], kind: str
) -> Plugin[_Built]:
    name = value_of(Key(f"{prefix}type", Kind.CLASS), given)
    return named(f"{prefix}type", str(name), known, kind)


def _under(given: Mapping[str, object], prefix: str) -> dict[str, object]:
    return {key.removeprefix(prefix): v for key, v in given.items() if key.startswith(prefix)}
