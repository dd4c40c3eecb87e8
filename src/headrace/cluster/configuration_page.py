"""The reference page of all settings, written from their declarations.

`docs/reference/configuration.md` is this text; a test keeps it fresh.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.cluster.config_keys import BROKER_KEYS, GROUP_KEYS, TOPIC_KEYS, topic_synonyms
from headrace.cluster.config_types import ConfigKey
from headrace.cluster.keys.group import GROUP_BOUNDS

_HEAD = """\
# Configuration

All settings of topics, groups and brokers, under Kafka's own names: an existing `server.properties`
works as it is. An unknown key in that file gives a warning; an invalid value stops the broker with
a message that names the key, the value and what is allowed.

A setting takes the first value that exists in this order, and removing one exposes the next:

1. the topic's or the group's own (`headrace config`, `kafka-configs --entity-type topics`)
2. dynamic, for one broker (`--entity-type brokers --entity-name 1`)
3. dynamic, for all brokers (`--entity-type brokers --entity-default`)
4. static: `server.properties`, then `--set key=value` of the command line
5. built in, as listed here

A dash means that a setting has no value unless it is given. The largest 64-bit number,
9223372036854775807, stands for "never" or "no limit".
"""

_TOPICS = """
## Topics

If a topic does not set a key, the broker keys in the last column give its value, the first that is
set winning. Keys in hours and minutes are converted.

| key | type | default | allowed | meaning | broker keys |
|---|---|---|---|---|---|
"""

_GROUPS = """
## Groups

Settings of single consumer and share groups (`kafka-configs --entity-type groups`); they may be
given before the group exists. The broker keys in the last column give the value of a group that
does not set a key, and the smallest and the largest value that a group may set.

| key | type | default | allowed | meaning | broker keys |
|---|---|---|---|---|---|
"""

_BROKERS = """
## Brokers

*Change* says whether a value can be changed while the broker runs: `cluster-wide` for one broker or
for all, `per-broker` for one broker, `read-only` not at all. Keys of security can be given for one
listener with the prefix `listener.name.<listener in lower case>.`.

| key | type | default | allowed | change | meaning |
|---|---|---|---|---|---|
"""


def configuration_page() -> str:
    """The whole page."""
    groups = [_GROUPS, *_group_rows()]
    return "".join([_HEAD, _TOPICS, *_topic_rows(), *groups, _BROKERS, *_broker_rows()])


def _topic_rows() -> Iterable[str]:
    for key in TOPIC_KEYS.values():
        synonyms = ", ".join(f"`{synonym.name}`" for synonym in topic_synonyms(key.name))
        yield _row([*_facts(key), key.documentation, synonyms or "—"])


def _group_rows() -> Iterable[str]:
    for key in GROUP_KEYS.values():
        bounds = GROUP_BOUNDS.get(key.name)
        names = "—"
        if bounds is not None:
            names = f"`{bounds.default}`, `{bounds.minimum}`, `{bounds.maximum}`"
        yield _row([*_facts(key), key.documentation, names])


def _broker_rows() -> Iterable[str]:
    for key in BROKER_KEYS.values():
        yield _row([*_facts(key), key.mode.value, key.documentation])


def _facts(key: ConfigKey) -> list[str]:
    default = "—" if key.default is None else f"`{key.default}`" if key.default else "empty"
    allowed = key.allowed.words if key.allowed is not None else "—"
    return [f"`{key.name}`", key.type.name.lower(), default, allowed]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
