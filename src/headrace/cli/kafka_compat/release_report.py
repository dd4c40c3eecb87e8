"""`version-mapping` and `feature-dependencies`, which two of Kafka's tools answer alike."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.cli.kafka_compat.administering import Told
from headrace.cli.kafka_compat.releases import (
    METADATA_VERSION,
    NEWEST,
    dependencies_of,
    features_of,
    highest,
    known_versions,
    level_of,
    name_of,
)

_SHORT_MAX = 32767


def version_mapping(release: str | None) -> list[str]:
    """The features of a release, or of the newest."""
    level = NEWEST if release is None else level_of(release)
    if level is None:
        raise Told(
            f"Unknown release version '{release}'. Supported versions are: {known_versions()}"
        )
    lines = [f"{METADATA_VERSION}={level} ({release or name_of(level)})"]
    return lines + [f"{name}={own}" for name, own in features_of(level).items()]


def feature_dependencies(wanted: Iterable[str]) -> list[str]:
    """What each of these levels needs of other features."""
    lines = []
    for text in wanted:
        feature, level = parse_level(text)
        if feature == METADATA_VERSION:
            if name_of(level) is None:
                raise Told(f"Unknown {METADATA_VERSION} {level}")
            lines.append(f"{feature}={level} ({name_of(level)}) has no dependencies.")
            continue
        top = highest(feature)
        if top is None:
            raise Told(f"Unknown feature: {feature}")
        if not 0 <= level <= top:
            raise Told(f"Feature level {level} is not supported for feature {feature}")
        needed = dependencies_of(feature, level)
        if not needed:
            lines.append(f"{feature}={level} has no dependencies.")
            continue
        lines.append(f"{feature}={level} requires:")
        for other, own in needed.items():
            named = f" ({name_of(own)})" if other == METADATA_VERSION else ""
            lines.append(f"    {other}={own}{named}")
    return lines


def parse_level(text: str) -> tuple[str, int]:
    """`group.version=1`."""
    name, equals, level = (part.strip() for part in text.partition("="))
    if not equals:
        raise Told(f"Can't parse feature=level string {text}: equals sign not found.")
    if not level.removeprefix("-").isdecimal() or abs(int(level)) > _SHORT_MAX:
        raise Told(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, int(level)
