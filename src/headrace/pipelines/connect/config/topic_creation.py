"""Topics that a source connector makes: which settings a new topic gets.

`topic.creation.groups` names groups; the first one whose `include` matches a topic's name, and
whose `exclude` does not, has its settings. The group `default` matches what no other does, and
without it the connector makes no topics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from headrace.java.regex import InvalidJavaRegex, compile_java
from headrace.pipelines.connect.config.definition import (
    REQUIRED,
    Definition,
    Key,
    Kind,
    parsed,
    present,
)
from headrace.pipelines.connect.faults import ConfigException

PREFIX: Final = "topic.creation."
DEFAULT: Final = "default"
_OWN: Final = ("include", "exclude", "partitions", "replication.factor")
_GROUPS: Final = "topic.creation.groups"


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """Topics that are made alike."""

    name: str
    include: re.Pattern[str]
    exclude: re.Pattern[str]
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]

    def __contains__(self, topic: str) -> bool:
        return bool(self.include.fullmatch(topic)) and not self.exclude.fullmatch(topic)


def uses_topic_creation(settings: Mapping[str, str]) -> bool:
    """Whether a connector says anything of topics to be made."""
    return any(name.startswith(PREFIX) for name in settings)


def topic_groups(settings: Mapping[str, str]) -> tuple[TopicGroup, ...]:
    """The groups in the order in which they are asked; none if the connector makes no topics."""
    if not uses_topic_creation(settings):
        return ()
    default = _values(settings, DEFAULT, {})
    names = parsed(_GROUPS, settings.get(_GROUPS, ""), Kind.LIST)
    assert isinstance(names, list)
    shared = {key: default[key] for key in ("partitions", "replication.factor")}
    others = [
        _group(settings, name, _values(settings, name, shared)) for name in names if name != DEFAULT
    ]
    every = default | {"include": [".*"], "exclude": []}  # whatever the settings say
    return (*others, _group(settings, DEFAULT, every))


def group_of(groups: tuple[TopicGroup, ...], topic: str) -> TopicGroup | None:
    """The group that a topic is made with; None if it is not made."""
    return next((group for group in groups if topic in group), None)


def _values(
    settings: Mapping[str, str], name: str, defaults: Mapping[str, object]
) -> dict[str, object]:
    definition = Definition(
        (
            Key("include", Kind.LIST, [], check=_patterns),
            Key("exclude", Kind.LIST, [], check=_patterns),
            Key(
                "replication.factor",
                Kind.SHORT,
                defaults.get("replication.factor", REQUIRED),
                check=a_replication_factor,
            ),
            Key(
                "partitions",
                Kind.INT,
                defaults.get("partitions", REQUIRED),
                check=a_partition_count,
            ),
        )
    )
    prefix = f"{PREFIX}{name}."
    read = definition.under(prefix).read(settings)
    return {key: read[prefix + key] for key in _OWN}


def _group(settings: Mapping[str, str], name: str, values: Mapping[str, object]) -> TopicGroup:
    prefix = f"{PREFIX}{name}."
    others = {
        key.removeprefix(prefix): value
        for key, value in settings.items()
        if key.startswith(prefix) and key.removeprefix(prefix) not in _OWN
    }
    partitions, replicas = values["partitions"], values["replication.factor"]
    assert isinstance(partitions, int)
    assert isinstance(replicas, int)
    return TopicGroup(
        name, _any(values["include"]), _any(values["exclude"]), partitions, replicas, others
    )


def _any(patterns: object) -> re.Pattern[str]:
    """A pattern that matches what one of several does."""
    assert isinstance(patterns, list)
    return compile_java("|".join(patterns)) if patterns else re.compile(r"(?!)")


def _patterns(name: str, value: object) -> None:
    present(name, value)
    for pattern in value if isinstance(value, list) else ():
        try:
            compile_java(pattern)
        except InvalidJavaRegex as fault:
            reason = f"entry must be a Java-compliant regular expression: {fault}"
            raise ConfigException.of(name, pattern, reason) from None


def a_partition_count(name: str, value: object) -> None:
    """A number of partitions for a new topic."""
    if isinstance(value, int) and value < 1 and value != -1:
        reason = "Number of partitions must be positive, or -1 to use the broker's default"
        raise ConfigException.of(name, value, reason)


def a_replication_factor(name: str, value: object) -> None:
    """A replication factor for a new topic."""
    if isinstance(value, int) and value < 1 and value != -1:
        reason = (
            "Replication factor must be positive and not larger than the number of brokers in the "
            "Kafka cluster, or -1 to use the broker's default"
        )
        raise ConfigException.of(name, value, reason)
