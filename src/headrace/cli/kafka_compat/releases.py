"""Kafka's releases as levels of features: which `metadata.version` goes with which others.

A table of facts, up to the newest release that is meant for production. Brokers here keep no
`metadata.version` of their own: their state is no log. The numbers serve clusters of Kafka, and
whoever asks what a release would set.
"""

from __future__ import annotations

from typing import Final

METADATA_VERSION: Final = "metadata.version"
_FIRST_LEVEL: Final = 7
_NAMES: Final = (
    "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2",
    "3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0",
    "4.0-IV1", "4.0-IV2", "4.0-IV3", "4.1-IV0", "4.1-IV1", "4.2-IV0", "4.2-IV1", "4.3-IV0",
)  # fmt: skip
NEWEST: Final = _FIRST_LEVEL + len(_NAMES) - 1
# By feature: the metadata level from which on it has a level above 0, and which.
_SINCE: Final = {
    "kraft.version": (21, 1),
    "transaction.version": (24, 2),
    "group.version": (22, 1),
    "eligible.leader.replicas.version": (26, 1),
    "share.version": (28, 1),
    "streams.version": (29, 1),
}
_DEPENDENCIES: Final = {("eligible.leader.replicas.version", 1): {METADATA_VERSION: 23}}


def name_of(level: int) -> str | None:
    """`4.3-IV0` of 30."""
    place = level - _FIRST_LEVEL
    return _NAMES[place] if 0 <= place < len(_NAMES) else None


def level_of(name: str) -> int | None:
    """30 of `4.3-IV0`, and of `4.3`, which stands for the newest of that release."""
    found = [place for place, each in enumerate(_NAMES) if each == name]
    found += [place for place, each in enumerate(_NAMES) if each.partition("-")[0] == name][-1:]
    return _FIRST_LEVEL + found[0] if found else None


def features_of(level: int) -> dict[str, int]:
    """The levels of all other features that a release begins with."""
    return {name: own if level >= since else 0 for name, (since, own) in _SINCE.items()}


def highest(feature: str) -> int | None:
    """The highest level of a feature; None of one that Kafka does not have."""
    return _SINCE[feature][1] if feature in _SINCE else None


def dependencies_of(feature: str, level: int) -> dict[str, int]:
    return _DEPENDENCIES.get((feature, level), {})


def known_versions() -> str:
    """All names, for whoever gave another one."""
    return ", ".join(_NAMES)
