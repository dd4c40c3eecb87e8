"""The settings of a subject, of a context, or of all."""

from __future__ import annotations

from typing import Any

import msgspec

from headrace.registry import errors, topic_records
from headrace.registry.compatibility import POLICIES, parsed_level
from headrace.registry.contents import ordered_metadata, ordered_rule_set
from headrace.registry.decisions import Decision
from headrace.registry.deletion import check_writable
from headrace.registry.entities import Config, ConfigUpdateRequest
from headrace.registry.rule_sets import check_rule_set
from headrace.registry.scopes import config_in_scope
from headrace.registry.state import RegistryState
from headrace.registry.subjects import checked_scope
from headrace.registry.writes import safe_writes


def get_config(
    state: RegistryState, subject: str | None = None, *, default_to_global: bool = False
) -> Config:
    """`GET /config[/{s}]`; 40408 if a subject has none of its own and that was asked for."""
    scope = checked_scope(subject)
    if default_to_global:
        return config_in_scope(state, scope)
    config = state.configs.get(scope)
    if scope is None:
        config = Config() if config is None else config
        level = config.compatibility_level or state.defaults.compatibility_level
        return msgspec.structs.replace(config, compatibility_level=level)
    if config is None:
        raise errors.no_subject_compatibility(scope)
    return config


def set_config(
    state: RegistryState, subject: str | None, request: ConfigUpdateRequest
) -> Decision[ConfigUpdateRequest]:
    """`PUT /config[/{s}]`: what is absent stays, what is null goes; the reply is the whole."""
    scope = checked_scope(subject)
    check_writable(state, scope)
    changes: dict[str, Any] = {}
    for name in ConfigUpdateRequest.__struct_fields__:
        value = getattr(request, name)
        if value is not msgspec.UNSET:
            changes["compatibility_level" if name == "compatibility" else name] = value
    config = msgspec.structs.replace(state.configs.get(scope, Config()), **_checked(changes))
    write = (topic_records.config_key(scope), topic_records.config_value(scope, config))
    return Decision(safe_writes(state, [write]), lambda: echo(config))


def _checked(changes: dict[str, Any]) -> dict[str, Any]:
    """The changes in their stored form; 42203 or 42210 for values that are not allowed."""
    checked_changes = dict(changes)
    if changes.get("compatibility_level") is not None:
        checked_changes["compatibility_level"] = parsed_level(changes["compatibility_level"]).value
    policy = changes.get("compatibility_policy")
    if policy is not None:
        if policy.upper() not in POLICIES:
            raise errors.invalid_compatibility_level()
        checked_changes["compatibility_policy"] = policy.upper()
    for name in ("default_rule_set", "override_rule_set"):
        check_rule_set(changes.get(name))
        if changes.get(name) is not None:
            checked_changes[name] = ordered_rule_set(changes[name])
    for name in ("default_metadata", "override_metadata"):
        if changes.get(name) is not None:
            checked_changes[name] = ordered_metadata(changes[name])
    return checked_changes


def echo(config: Config) -> ConfigUpdateRequest:
    """Settings in the form of the request, which calls the level `compatibility`."""
    fields: dict[str, Any] = {}
    for name in Config.__struct_fields__:
        value = getattr(config, name)
        if value is not None:
            fields["compatibility" if name == "compatibility_level" else name] = value
    return ConfigUpdateRequest(**fields)


def delete_config(state: RegistryState, subject: str | None = None) -> Decision[Config]:
    """`DELETE /config[/{s}]`: the reply is what was set; 40401 if nothing was."""
    scope = checked_scope(subject)
    check_writable(state, scope)
    old = get_config(state) if scope is None else state.configs.get(scope)
    if old is None:
        raise errors.subject_not_found(scope or "")
    writes = [(topic_records.config_key(scope), None)] if scope in state.configs else []
    return Decision(safe_writes(state, writes), lambda: old)
