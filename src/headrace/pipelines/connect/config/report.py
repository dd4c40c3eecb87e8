"""What a validation says, in the words of the REST API: every key, its definition and its value."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from headrace.pipelines.connect.config.definition import REQUIRED, Found, Key, Password


class ConfigKeyInfo(msgspec.Struct, frozen=True):
    """What a key is."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    width: str
    display_name: str
    dependents: list[str]
    order_in_group: int


class ConfigValueInfo(msgspec.Struct, frozen=True):
    """What a key has, and all that is wrong with it."""

    name: str
    value: str | None
    recommended_values: list[str | None]
    errors: list[str]
    visible: bool


class ConfigInfo(msgspec.Struct, frozen=True):
    """A key and its value."""

    definition: ConfigKeyInfo
    value: ConfigValueInfo


class ConfigInfos(msgspec.Struct, frozen=True):
    """The answer to a validation."""

    name: str
    error_count: int
    groups: list[str]
    configs: list[ConfigInfo]


def report(name: str, found: Iterable[Found]) -> ConfigInfos:
    """All that was found of a connector's settings."""
    every = tuple(found)
    groups = dict.fromkeys(each.key.group for each in every if each.key.group is not None)
    errors = sum(len(each.errors) for each in every)
    return ConfigInfos(name, errors, list(groups), [_info(each) for each in every])


def faults(infos: ConfigInfos) -> list[str]:
    """Everything that is wrong, in the order of the keys."""
    return [error for each in infos.configs for error in each.value.errors]


def key_info(key: Key) -> ConfigKeyInfo:
    """What a key is, as the plugin's own settings are listed."""
    return ConfigKeyInfo(
        key.name,
        key.kind.value,
        key.required,
        None if key.default is REQUIRED else text(key.default),
        key.importance,
        key.doc,
        key.group,
        key.width,
        key.display_name or key.name,
        list(key.dependents),
        key.order,
    )


def _info(found: Found) -> ConfigInfo:
    value = ConfigValueInfo(
        found.key.name,
        text(found.value),
        [text(each) for each in found.recommended],
        list(found.errors),
        found.visible,
    )
    return ConfigInfo(key_info(found.key), value)


def text(value: object) -> str | None:
    """A typed value as it would be written in a file; a password is never shown."""
    if value is None or isinstance(value, Password):
        return None if value is None else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    return str(value)
