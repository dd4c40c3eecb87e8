"""The classes that settings may name, as validation needs them.

Who has connectors, converters, transforms and predicates gives them as `Plugins`; nothing here
finds or instantiates a class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from typing import Final, Protocol

from headrace.pipelines.connect.config.definition import Definition, Found

_NEAR: Final = 0.75


class Role(Enum):
    """What a class is used as; a value is the name of Connect's interface for it."""

    CONNECTOR = "Connector"
    CONVERTER = "Converter"
    HEADER_CONVERTER = "HeaderConverter"
    TRANSFORM = "Transformation"
    PREDICATE = "Predicate"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A class that settings may name, with its full name and its own settings.

    Of connectors: `is_source`; `validate` adds what the class itself finds wrong; `exactly_once`
    says whether it can write each record once (None: it does not say), `own_boundaries` whether it
    can say where transactions end.
    """

    name: str
    version: str
    definition: Definition = field(default_factory=Definition)
    is_source: bool = False
    validate: Callable[[Mapping[str, str], list[Found]], list[Found]] | None = None
    exactly_once: bool | None = None
    own_boundaries: bool = False


class Plugins(Protocol):
    """The classes that there are."""

    def find(self, role: Role, name: str) -> Plugin | None:
        """The class of that name in a role, by its full name, its last part or an alias."""

    def names(self, role: Role) -> Sequence[str]:
        """The full names of all classes in a role, in the order in which they are offered."""


def meant(name: str, known: Sequence[str]) -> str:
    """The nearest name, as a question; nothing if none is near."""
    names = {each.rpartition(".")[2]: each for each in known}
    names |= {last.removesuffix("Connector"): each for last, each in names.items()}
    near = get_close_matches(name.rpartition(".")[2], names, 1, _NEAR)
    return f" Did you mean {names[near[0]]}?" if near else ""
