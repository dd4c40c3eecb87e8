"""Features: what this broker can do, and what all brokers have agreed to do (KIP-584).

A feature has levels. Each broker supports a range of them; the cluster has *finalized* one, which
clients are told and which decides what is written, so that a cluster of old and new brokers does
nothing that some of them cannot read. Level 0 is a feature that is switched off.

`metadata.version` names the release whose behaviour clients see: 30 is Apache Kafka 4.3. It can be
raised and not lowered, for there is no older form in which this broker could keep its metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from headrace.cluster.image import ClusterImage, FeaturesChanged
from headrace.errors import ClientFault, ConfigError, Error

GROUP_VERSION: Final = "group.version"
METADATA_VERSION: Final = "metadata.version"
SHARE_VERSION: Final = "share.version"
TRANSACTION_VERSION: Final = "transaction.version"


@dataclass(frozen=True, slots=True)
class LevelRange:
    """The levels of a feature that this broker supports, both ends included."""

    lowest: int
    highest: int

    def __contains__(self, level: int) -> bool:
        return self.lowest <= level <= self.highest

    def __str__(self) -> str:
        return f"{self.lowest}-{self.highest}"


SUPPORTED: Final[Mapping[str, LevelRange]] = {
    GROUP_VERSION: LevelRange(0, 1),  # 1: the consumer protocol of KIP-848
    METADATA_VERSION: LevelRange(7, 30),
    SHARE_VERSION: LevelRange(0, 1),  # 1: share groups (KIP-932)
    TRANSACTION_VERSION: LevelRange(0, 2),  # 2: a new epoch with every transaction (KIP-890)
}

DEFAULT_LEVELS: Final = {name: levels.highest for name, levels in SUPPORTED.items()}


class UpgradeType(IntEnum):
    """What an update is allowed to do, by its number in UpdateFeatures."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    """One line of an UpdateFeatures request; `upgrade_type` is the number as it came."""

    name: str
    level: int
    upgrade_type: int


def update_features(image: ClusterImage, updates: Sequence[FeatureUpdate]) -> list[FeaturesChanged]:
    """All updates or none; nothing if every level is what it was."""
    levels = dict(image.features)
    for update in updates:
        _check(update, levels.get(update.name, 0))
        if update.level:
            levels[update.name] = update.level
        else:
            levels.pop(update.name, None)
    if levels == image.features:
        return []
    return [FeaturesChanged(levels, image.features_epoch + 1)]


def check_supported(levels: Mapping[str, int]) -> None:
    """Refuse to start in a cluster that has agreed on something this broker cannot do."""
    for name, level in levels.items():
        supported = SUPPORTED.get(name)
        if supported is None or level not in supported:
            raise ConfigError(
                f"the cluster has finalized {name} at level {level}; this broker supports "
                f"{supported or 'no such feature'}. Run the release that raised the level, or "
                "lower it there first"
            )


def _check(update: FeatureUpdate, current: int) -> None:
    supported = SUPPORTED.get(update.name)
    if update.upgrade_type not in tuple(UpgradeType):
        raise _refusal(update, f"there is no upgrade type {update.upgrade_type}")
    if supported is None:
        raise _refusal(update, "this broker has no such feature")
    if update.level not in supported:
        raise _refusal(update, f"this broker supports the levels {supported}")
    if update.level > current and update.upgrade_type != UpgradeType.UPGRADE:
        raise _refusal(update, f"that is not a downgrade, the level is {current}")
    if update.level < current:
        if update.upgrade_type == UpgradeType.UPGRADE:
            raise _refusal(update, f"the level is {current}; ask for a safe or an unsafe downgrade")
        if update.name == METADATA_VERSION:
            raise _refusal(update, f"the level is {current} and cannot be lowered")


def _refusal(update: FeatureUpdate, reason: str) -> ClientFault:
    return ClientFault(
        Error.INVALID_UPDATE_VERSION,
        f"Invalid update version {update.level} for feature {update.name}: {reason}. "
        "No feature was changed.",
    )
