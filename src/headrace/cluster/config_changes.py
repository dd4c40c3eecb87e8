"""Decisions about settings: what a request to change them leads to, or why it is refused.

Settings of topics and groups are checked strictly (INVALID_CONFIG for an unknown key or a bad
value). Settings of brokers are checked as Kafka's brokers do, which answer INVALID_REQUEST. Both
requests of the protocol end in the same change: all values that a resource has from now on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from headrace.cluster import layout
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.config_keys import (
    CLIENT_METRICS_KEYS,
    GROUP_KEYS,
    TOPIC_KEYS,
    broker_key,
)
from headrace.cluster.config_owners import (
    ALL_BROKERS,
    ConfigOwner,
    OwnerKind,
    broker_owner,
    group_owner,
    topic_owner,
)
from headrace.cluster.config_types import ConfigKey, ConfigType, UpdateMode
from headrace.cluster.configs import group_value
from headrace.cluster.dynamic_passwords import DynamicPasswords, is_password
from headrace.cluster.image import (
    ClusterImage,
    ConfigChanged,
)
from headrace.cluster.keys.group import GROUP_BOUNDS
from headrace.coordination.tree import MAX_PATH_LENGTH
from headrace.errors import ClientFault, ConfigError, Error

_NO_SECRET: Final = DynamicPasswords()


class AlterOp(IntEnum):
    """What IncrementalAlterConfigs does with one key."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigOp:
    """One line of an IncrementalAlterConfigs request; `op` is the number as it came."""

    name: str
    op: int
    value: str | None = None


def check_topic_configs(configs: Mapping[str, str | None]) -> dict[str, str]:
    """The overrides of a topic in the form in which they are stored, or INVALID_CONFIG."""
    checked = {}
    for name, value in configs.items():
        key = TOPIC_KEYS.get(name)
        if key is None:
            raise ClientFault(Error.INVALID_CONFIG, f"Unknown topic config name: {name}")
        if value is None:
            raise ClientFault(Error.INVALID_CONFIG, f"Topic config {name} has no value")
        try:
            checked[name] = key.normalize(value)
        except ConfigError as error:
            raise ClientFault(Error.INVALID_CONFIG, str(error)) from None
    _check_topic_relations(checked)
    return checked


def alter_topic(
    image: ClusterImage, topic: str, configs: Mapping[str, str | None]
) -> ConfigChanged:
    """AlterConfigs: the given overrides replace all that the topic has."""
    _check_topic_exists(image, topic)
    return ConfigChanged(topic_owner(topic), check_topic_configs(configs))


def incremental_alter_topic(
    image: ClusterImage, topic: str, ops: Sequence[ConfigOp]
) -> ConfigChanged:
    """IncrementalAlterConfigs: the given overrides change, the others stay."""
    _check_topic_exists(image, topic)
    configs = incremental_alter(image.config_of(topic_owner(topic)), ops, TOPIC_KEYS)
    return ConfigChanged(topic_owner(topic), check_topic_configs(configs))


def alter_broker(
    image: ClusterImage,
    broker_id: int | None,
    configs: Mapping[str, str | None],
    static: BrokerConfig,
    passwords: DynamicPasswords = _NO_SECRET,
) -> ConfigChanged:
    """AlterConfigs for one broker, or for all if `broker_id` is None."""
    given = {name: value for name, value in configs.items() if value is not None}
    return _change_broker(image, broker_id, given, given.keys(), static, passwords)


def incremental_alter_broker(
    image: ClusterImage,
    broker_id: int | None,
    ops: Sequence[ConfigOp],
    static: BrokerConfig,
    passwords: DynamicPasswords = _NO_SECRET,
) -> ConfigChanged:
    """IncrementalAlterConfigs for one broker, or for all if `broker_id` is None.

    `static` is the configuration of the broker that checks the request: values that are right alone
    and wrong together with its file are refused. Its `passwords` encrypt those that are set.
    """
    keys = {op.name: key for op in ops if (key := broker_key(op.name)) is not None}
    configs = incremental_alter(_broker_configs(image, broker_id), ops, keys)
    return _change_broker(image, broker_id, configs, [op.name for op in ops], static, passwords)


def check_group_configs(configs: Mapping[str, str], broker: BrokerConfig) -> dict[str, str]:
    """The settings of a group in the form in which they are stored, or INVALID_CONFIG."""
    checked = {}
    for name, value in configs.items():
        key = GROUP_KEYS.get(name)
        if key is None:
            raise ClientFault(Error.INVALID_CONFIG, f"Unknown group config name: {name}")
        try:
            checked[name] = key.normalize(value)
        except ConfigError as error:
            raise ClientFault(Error.INVALID_CONFIG, str(error)) from None
        if name in GROUP_BOUNDS:
            _check_group_bounds(name, int(checked[name]), broker)
    for kind in ("consumer", "share") if checked else ():
        heartbeat, session = f"{kind}.heartbeat.interval.ms", f"{kind}.session.timeout.ms"
        heartbeat_ms = group_value(heartbeat, checked, broker)
        session_ms = group_value(session, checked, broker)
        if session_ms <= heartbeat_ms:
            raise ClientFault(
                Error.INVALID_CONFIG,
                f"{session} ({session_ms}) is not larger than {heartbeat} ({heartbeat_ms})",
            )
    return checked


def alter_group(
    image: ClusterImage, group: str, configs: Mapping[str, str | None], broker: BrokerConfig
) -> ConfigChanged:
    """AlterConfigs: the given settings replace all that the group has."""
    given = {}
    for name, value in configs.items():
        if value is None:
            raise ClientFault(Error.INVALID_REQUEST, f"Group config {name} has no value")
        given[name] = value
    return _change_group(group, given, broker)


def incremental_alter_group(
    image: ClusterImage, group: str, ops: Sequence[ConfigOp], broker: BrokerConfig
) -> ConfigChanged:
    """IncrementalAlterConfigs: the given settings change, the others stay."""
    configs = incremental_alter(image.config_of(group_owner(group)), ops, GROUP_KEYS)
    return _change_group(group, configs, broker)


def alter_client_metrics(name: str, configs: Mapping[str, str | None]) -> ConfigChanged:
    """AlterConfigs: the given settings replace all that a subscription has; none removes it."""
    if not name:
        raise ClientFault(Error.INVALID_REQUEST, "A subscription's name is not empty.")
    owner = ConfigOwner(OwnerKind.CLIENT_METRICS, name)
    if len(layout.config_path(owner)) > MAX_PATH_LENGTH:
        raise ClientFault(Error.INVALID_REQUEST, "The subscription's name is too long.")
    checked = {}
    for key_name, value in configs.items():
        key = CLIENT_METRICS_KEYS.get(key_name)
        if key is None or value is None:
            raise ClientFault(
                Error.INVALID_REQUEST, f"Unknown client metrics configuration {key_name}"
            )
        try:
            checked[key_name] = key.normalize(value)
        except ConfigError as error:
            raise ClientFault(Error.INVALID_REQUEST, str(error)) from None
    return ConfigChanged(owner, checked)


def incremental_alter_client_metrics(
    image: ClusterImage, name: str, ops: Sequence[ConfigOp]
) -> ConfigChanged:
    """IncrementalAlterConfigs: the given settings change, the others stay."""
    current = image.config_of(ConfigOwner(OwnerKind.CLIENT_METRICS, name))
    return alter_client_metrics(name, incremental_alter(current, ops, CLIENT_METRICS_KEYS))


def incremental_alter(
    current: Mapping[str, str], ops: Sequence[ConfigOp], keys: Mapping[str, ConfigKey]
) -> dict[str, str]:
    """Current values after some operations; the values themselves are not checked here."""
    names = [op.name for op in ops]
    for name in names:
        if names.count(name) > 1:
            raise ClientFault(Error.INVALID_REQUEST, f"Config key {name} occurs twice")
    configs = dict(current)
    for op in ops:
        if op.op == AlterOp.DELETE:
            configs.pop(op.name, None)
        elif op.op not in (AlterOp.SET, AlterOp.APPEND, AlterOp.SUBTRACT):
            raise ClientFault(
                Error.INVALID_REQUEST, f"Unknown operation {op.op} for config key {op.name}"
            )
        elif op.value is None:
            raise ClientFault(Error.INVALID_REQUEST, f"Config key {op.name} has no value")
        elif op.op == AlterOp.SET:
            configs[op.name] = op.value
        else:
            configs[op.name] = _changed_list(configs, op, op.value, keys)
    return configs


def _changed_list(
    configs: Mapping[str, str], op: ConfigOp, value: str, keys: Mapping[str, ConfigKey]
) -> str:
    key = keys.get(op.name)
    if key is None or key.type is not ConfigType.LIST:
        raise ClientFault(
            Error.INVALID_CONFIG,
            f"Config key {op.name} is not a list: it can be set or deleted, nothing else",
        )
    before = _split(configs.get(op.name, key.default or ""))
    items = _split(value)
    if op.op == AlterOp.APPEND:
        return ",".join(dict.fromkeys([*before, *items]))
    return ",".join(item for item in before if item not in items)


def _split(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _check_topic_exists(image: ClusterImage, topic: str) -> None:
    if topic not in image.topics:
        raise ClientFault(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")


def _check_topic_relations(configs: Mapping[str, str]) -> None:
    if configs.get("remote.storage.enable") == "true":
        raise ClientFault(
            Error.INVALID_CONFIG,
            "Invalid value true for configuration remote.storage.enable: "
            "there is no tiered storage, allowed is false",
        )
    minimum = configs.get("min.compaction.lag.ms")
    maximum = configs.get("max.compaction.lag.ms")
    if minimum is not None and maximum is not None and int(minimum) > int(maximum):
        raise ClientFault(
            Error.INVALID_CONFIG,
            f"min.compaction.lag.ms ({minimum}) is larger than max.compaction.lag.ms ({maximum})",
        )


def _change_group(group: str, configs: Mapping[str, str], broker: BrokerConfig) -> ConfigChanged:
    if not group:
        raise ClientFault(Error.INVALID_REQUEST, "There are no settings for all groups: name one")
    if len(layout.config_path(group_owner(group))) > MAX_PATH_LENGTH:
        raise ClientFault(
            Error.INVALID_REQUEST, "The group id is too long for a group with settings"
        )
    checked = check_group_configs(configs, broker)
    return ConfigChanged(group_owner(group), checked)


def _check_group_bounds(name: str, value: int, broker: BrokerConfig) -> None:
    bounds = GROUP_BOUNDS[name]
    minimum, maximum = broker.get_int(bounds.minimum), broker.get_int(bounds.maximum)
    if value < minimum:
        raise ClientFault(Error.INVALID_CONFIG, f"{name} is {value}; {bounds.minimum} is {minimum}")
    if value > maximum:
        raise ClientFault(Error.INVALID_CONFIG, f"{name} is {value}; {bounds.maximum} is {maximum}")


def _broker_configs(image: ClusterImage, broker_id: int | None) -> Mapping[str, str]:
    if broker_id is not None and broker_id not in image.brokers:
        raise ClientFault(
            Error.BROKER_ID_NOT_REGISTERED, f"There is no live broker with id {broker_id}."
        )
    return image.config_of(broker_owner(broker_id))


def _change_broker(
    image: ClusterImage,
    broker_id: int | None,
    configs: Mapping[str, str],
    touched: Collection[str],
    static: BrokerConfig,
    passwords: DynamicPasswords,
) -> ConfigChanged:
    _broker_configs(image, broker_id)
    for name in touched:
        _check_dynamic(name, for_all=broker_id is None)
    try:
        checked = {name: _normalized(name, value) for name, value in configs.items()}
        if broker_id is None:
            static.with_dynamic({}, checked)
        else:
            static.with_dynamic(checked, image.config_of(ALL_BROKERS))
        given = {name: checked[name] for name in touched if name in checked and is_password(name)}
        checked |= passwords.encrypted(given)
    except ConfigError as error:
        raise ClientFault(Error.INVALID_REQUEST, str(error)) from None
    return ConfigChanged(broker_owner(broker_id), checked)


def _check_dynamic(name: str, *, for_all: bool) -> None:
    key = broker_key(name)
    if key is None:
        raise ClientFault(Error.INVALID_REQUEST, f"Unknown broker config name: {name}")
    if key.mode is UpdateMode.READ_ONLY:
        raise ClientFault(
            Error.INVALID_REQUEST,
            f"{name} cannot be changed while a broker runs: set it in server.properties and "
            "restart",
        )
    if for_all and key.mode is UpdateMode.PER_BROKER:
        raise ClientFault(
            Error.INVALID_REQUEST, f"{name} can only be set for one broker: name its id"
        )


def _normalized(name: str, value: str) -> str:
    key = broker_key(name)
    return value if key is None else key.normalize(value)
