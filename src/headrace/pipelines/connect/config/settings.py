"""Settings as a class: what a connector's author writes, and gets typed values from.

    class Settings(Config):
        path: str = Config.key("file", doc="File to read", importance="high")
        rows: int = Config.key("batch.size", default=2000, at_least=1)

The annotations say the kinds. A class is one `Definition`; `Settings.of(given)` reads it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self, Union, get_args, get_origin, get_type_hints

from headrace.pipelines.connect.config.definition import (
    REQUIRED,
    Check,
    Definition,
    Key,
    Kind,
    Password,
    all_of,
    at_least,
    between,
    one_of,
)

_KINDS: Final[Mapping[object, Kind]] = {
    str: Kind.STRING,
    int: Kind.INT,
    float: Kind.DOUBLE,
    bool: Kind.BOOLEAN,
    list: Kind.LIST,
    Password: Kind.PASSWORD,
}


class _Declared:
    """A key as it is written in a class; its kind follows from the annotation."""

    __slots__ = ("made",)

    def __init__(self, made: Callable[[Kind], Key]) -> None:
        self.made = made


class Config:
    """The base of a connector's settings."""

    definition: ClassVar[Definition] = Definition()
    _names: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls)
        own = {name: made for name, made in vars(cls).items() if isinstance(made, _Declared)}
        keys = {name: declared.made(_kind(cls, name, hints)) for name, declared in own.items()}
        cls.definition = cls.definition.plus(*keys.values())
        cls._names = {**cls._names, **{name: key.name for name, key in keys.items()}}

    @staticmethod
    def key(
        name: str,
        *,
        default: object = REQUIRED,
        doc: str = "",
        importance: str = "medium",
        at_least: float | None = None,
        at_most: float | None = None,
        choices: Sequence[str] | None = None,
        check: Check | None = None,
        long: bool = False,
        **shown: Any,
    ) -> Any:
        """Declare a key: its name in a properties file, its default, and what it must be.

        `shown` is what a form needs beyond it: group, width, display_name, dependents, recommend.
        """
        checks = [*_bounds(at_least, at_most)]
        if choices is not None:
            checks.append(one_of(*choices))
        if check is not None:
            checks.append(check)
        whole = all_of(*checks) if checks else None

        def made(kind: Kind) -> Key:
            wide = Kind.LONG if long and kind is Kind.INT else kind
            return Key(name, wide, default, doc, importance.upper(), whole, **shown)

        return _Declared(made)

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Self:
        """The settings of what was given; ConfigException for the first that is wrong."""
        read = cls.definition.read(given)
        made = cls()
        for attribute, name in cls._names.items():
            setattr(made, attribute, read[name])
        return made


def _bounds(least: float | None, most: float | None) -> list[Check]:
    if most is not None:
        return [between(float("-inf") if least is None else least, most)]
    return [] if least is None else [at_least(least)]


def _kind(owner: type, name: str, hints: Mapping[str, object]) -> Kind:
    hint = hints.get(name)
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    kind = _KINDS.get(get_origin(hint) or hint)
    if kind is None:
        offered = "str, int, float, bool, list[str] or Password"
        raise TypeError(f"{owner.__name__}.{name} must be annotated as {offered}, not {hint}")
    return kind
