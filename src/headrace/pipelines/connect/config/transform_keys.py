"""The keys of a transform or predicate under its alias: `transforms.<alias>.type` and its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headrace.pipelines.connect.config.definition import REQUIRED, Definition, Key, Kind

_IMPORTANCE: Final = {"HIGH": 0, "MEDIUM": 1, "LOW": 2}
_CONDITIONS: Final = (
    Key("predicate", Kind.STRING, None, "The alias of the predicate to ask before transforming."),
    Key("negate", Kind.BOOLEAN, False, "Whether to transform what the predicate is not true of."),
)


def transform_keys(alias: str, own: Definition | None, version: str | None) -> Definition:
    """The keys of a transform; `own` and `version` are None while its class is not known."""
    conditional = None if own is None else own.plus(*_CONDITIONS)
    return _keys("transforms", "Transformation", alias, conditional, version)


def predicate_keys(alias: str, own: Definition | None, version: str | None) -> Definition:
    """The keys of a predicate; `own` and `version` are None while its class is not known."""
    return _keys("predicates", "Predicate", alias, own, version)


def _keys(
    setting: str, noun: str, alias: str, own: Definition | None, version: str | None
) -> Definition:
    prefix = f"{setting}.{alias}."
    group = f"{setting.capitalize()}: {alias}"
    type_key = Key(
        prefix + "type",
        Kind.CLASS,
        doc=f"The class of the {noun.lower()} {alias}.",
        importance="HIGH",
        group=group,
        width="LONG",
        display_name=f"{noun} type for {alias}",
        order=0,
    )
    version_key = Key(
        prefix + "plugin.version",
        Kind.STRING,
        version,
        f"The version of the {noun.lower()} {alias}.",
        "HIGH",
        group=group,
        width="LONG",
        display_name=f"{noun} version for {alias}",
        recommend=lambda _: [] if version is None else [version],
        order=1,
    )
    if own is None:
        return Definition((type_key, version_key))
    placed = [
        replace(key, group=group if key.group is None else f"{group}: {key.group}", order=order)
        for order, key in enumerate(sorted(own.under(prefix).keys, key=_rank), start=2)
    ]
    return Definition((type_key, version_key, *placed))


def _rank(key: Key) -> tuple[bool, int, str]:
    return key.default is not REQUIRED, _IMPORTANCE[key.importance], key.name
