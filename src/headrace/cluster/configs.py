"""The five levels of a setting, seen from a resource: effective values and their description.

An override of a topic or a group stands above the four levels of the broker (see `broker_config`).
Removing a value exposes the next level. Two brokers with different files therefore give the same
topic different values; that is how it is in Kafka, and it is not hidden here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.cluster.broker_config import BrokerConfig, ConfigSource, Setting
from headrace.cluster.config_keys import (
    BROKER_KEYS,
    CLIENT_METRICS_KEYS,
    GROUP_KEYS,
    TOPIC_KEYS,
    broker_key,
    broker_synonyms,
    topic_synonyms,
)
from headrace.cluster.config_types import ConfigKey, ConfigType, Settings, fill
from headrace.cluster.keys.group import GROUP_BOUNDS
from headrace.cluster.keys.topic import Synonym


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One level at which a setting has a value. The value of a password is None."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """A setting as DescribeConfigs shows it."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    is_sensitive: bool
    type: ConfigType
    documentation: str
    synonyms: list[ConfigSynonym] = field(default_factory=list)


def topic_value(name: str, overrides: Mapping[str, str], broker: BrokerConfig) -> Any:
    """The effective value of one topic setting."""
    key = TOPIC_KEYS[name]
    setting = next(_topic_settings(key, overrides, broker))
    value = key.parse(setting.text) if setting.unit == 1 else int(setting.text)
    return _in_unit(value, setting.unit)


def topic_settings(
    settings: type[Settings], overrides: Mapping[str, str], broker: BrokerConfig
) -> Settings:
    """Typed settings of a topic with their effective values; what topics have not is the broker's.

    `topic_settings(LogConfig, {"segment.bytes": "1048576"}, broker).segment_bytes`
    """
    return fill(
        settings,
        lambda name: (
            topic_value(name, overrides, broker) if name in TOPIC_KEYS else broker.get(name)
        ),
    )


def describe_topic(
    overrides: Mapping[str, str], broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """Every setting of a topic, or those asked for, also where only the default is in force."""
    entries = []
    for key in TOPIC_KEYS.values():
        if names is None or key.name in names:
            settings = list(_topic_settings(key, overrides, broker))
            entries.append(_entry(key, settings[0], settings, read_only=False))
    return entries


def group_value(name: str, overrides: Mapping[str, str], broker: BrokerConfig) -> Any:
    """The effective value of one group setting.

    The broker's limits may have changed since the group's value was taken: it is kept within them.
    """
    key, bounds = GROUP_KEYS[name], GROUP_BOUNDS.get(name)
    override = overrides.get(name)
    if bounds is None:
        return key.parse(override if override is not None else str(key.default))
    if override is None:
        return broker.get_int(bounds.default)
    value: int = key.parse(override)
    return min(max(value, broker.get_int(bounds.minimum)), broker.get_int(bounds.maximum))


def group_config(overrides: Mapping[str, str], broker: BrokerConfig) -> dict[str, Any]:
    """All settings of a group with their effective values, under Kafka's names."""
    return {name: group_value(name, overrides, broker) for name in GROUP_KEYS}


def describe_group(
    overrides: Mapping[str, str], broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """Every setting of a group, or those asked for, whether or not there is such a group."""
    entries = []
    for key in GROUP_KEYS.values():
        if names is None or key.name in names:
            settings = list(_group_settings(key, overrides, broker))
            entries.append(_entry(key, settings[0], settings, read_only=False))
    return entries


def describe_client_metrics(
    configs: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """Every setting of a client metrics subscription, whether or not there is such a one."""
    entries = []
    for key in CLIENT_METRICS_KEYS.values():
        if names is None or key.name in names:
            settings = []
            if key.name in configs:
                value = configs[key.name]
                settings.append(Setting(key.name, value, ConfigSource.CLIENT_METRICS_CONFIG))
            settings.append(Setting(key.name, key.default or "", ConfigSource.DEFAULT_CONFIG))
            entries.append(_entry(key, settings[0], settings, read_only=False))
    return entries


def describe_broker(
    broker: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """Every setting of a broker, or those asked for.

    The value is the key's own (`log.retention.ms` may be unset), its synonyms are the whole chain.
    """
    return [
        _entry(
            key,
            next(broker.settings((Synonym(key.name),)), None),
            list(broker.settings(broker_synonyms(key.name))),
            read_only=key.read_only,
        )
        for key in BROKER_KEYS.values()
        if names is None or key.name in names
    ]


def describe_cluster_default(
    configs: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The dynamic settings of all brokers: only those that are set, for they have no defaults."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    entries = []
    for name in sorted(configs):
        key = broker_key(name)
        if key is not None and (names is None or name in names):
            setting = Setting(name, configs[name], source)
            entries.append(_entry(key, setting, [setting], read_only=key.read_only))
    return entries


def _topic_settings(
    key: ConfigKey, overrides: Mapping[str, str], broker: BrokerConfig
) -> Iterator[Setting]:
    override = overrides.get(key.name)
    if override is not None:
        yield Setting(key.name, override, ConfigSource.TOPIC_CONFIG)
    synonyms = topic_synonyms(key.name)
    yield from broker.settings(synonyms)
    if not synonyms and key.default is not None:
        yield Setting(key.name, key.default, ConfigSource.DEFAULT_CONFIG)


def _group_settings(
    key: ConfigKey, overrides: Mapping[str, str], broker: BrokerConfig
) -> Iterator[Setting]:
    override = overrides.get(key.name)
    if override is not None:
        yield Setting(key.name, override, ConfigSource.GROUP_CONFIG)
    bounds = GROUP_BOUNDS.get(key.name)
    if bounds is not None:
        yield from broker.settings((Synonym(bounds.default),))
    elif key.default is not None:
        yield Setting(key.name, key.default, ConfigSource.DEFAULT_CONFIG)


def _entry(
    key: ConfigKey, shown: Setting | None, settings: list[Setting], *, read_only: bool
) -> ConfigEntry:
    return ConfigEntry(
        name=key.name,
        value=None if shown is None or key.sensitive else _text(key, shown),
        source=settings[0].source if settings else ConfigSource.DEFAULT_CONFIG,
        read_only=read_only,
        is_sensitive=key.sensitive,
        type=key.type,
        documentation=key.documentation,
        synonyms=[
            ConfigSynonym(setting.name, None if key.sensitive else setting.text, setting.source)
            for setting in settings
        ],
    )


def _text(key: ConfigKey, setting: Setting) -> str:
    """The text of a level, in the unit of the key that is described."""
    if setting.unit == 1 or setting.name == key.name:
        return key.normalize(setting.text)
    return str(_in_unit(int(setting.text), setting.unit))


def _in_unit(value: Any, unit: int) -> Any:
    """Hours or minutes as milliseconds; a negative time means for ever in any unit."""
    if unit == 1:
        return value
    return -1 if value < 0 else value * unit
