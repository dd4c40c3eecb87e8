"""A connector's settings as a whole: what Connect, its class, its transforms and converters ask.

Every key is reported with all that is wrong with it, at once. Which classes there are is a matter
of `Plugins`, which the caller has; the module instantiates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from headrace.java.regex import compile_java
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.definition import Found, Key, Kind
from headrace.pipelines.connect.config.overrides import Policy, refusals
from headrace.pipelines.connect.config.plugins import Plugin, Plugins, Role, meant
from headrace.pipelines.connect.config.report import ConfigInfos, report
from headrace.pipelines.connect.config.transform_keys import predicate_keys, transform_keys
from headrace.pipelines.connect.faults import BadRequestException


@dataclass(frozen=True, slots=True)
class WorkerTraits:
    """What a worker brings to its connectors' settings.

    `converters` has its classes by key: `key.converter`, `value.converter`, `header.converter`.
    """

    converters: Mapping[str, str]
    policy: Policy
    group_id: str | None = None
    exactly_once: bool = False


_ROLES: Final = {
    "key.converter": Role.CONVERTER,
    "value.converter": Role.CONVERTER,
    "header.converter": Role.HEADER_CONVERTER,
}
_GROUP: Final = "consumer.override.group.id"
_NO_TOPICS: Final = "Must configure one of topics or topics.regex"
_TWO_TOPICS: Final = "topics and topics.regex are mutually exclusive options, but both are set."
_UNSAID: Final = (
    "The connector does not implement the API required for preflight validation of exactly-once "
    "source support. Please consult the documentation for the connector to determine whether it "
    "supports exactly-once semantics, and then consider reconfiguring the connector to use the "
    'value "requested" for this property (which will disable this preflight check and allow the '
    "connector to be created)."
)
_UNSUPPORTED: Final = (
    "The connector does not support exactly-once semantics with the provided configuration."
)
_DISABLED: Final = "This worker does not have exactly-once source support enabled."
_NO_BOUNDARIES: Final = (
    "The connector does not support connector-defined transaction boundaries with the given "
    "configuration. Please reconfigure it to use a different transaction boundary definition."
)


def validate(given: Mapping[str, str], plugins: Plugins, worker: WorkerTraits) -> ConfigInfos:
    """All that is to be said of settings; BadRequestException if their class is not known.

    References to config providers in `given` are resolved already.
    """
    plugin = connector_plugin(given, plugins)
    wanted = given.get(keys.VERSION)
    if wanted is not None and wanted != plugin.version:
        return report(plugin.name, _other_version(given, plugin, wanted))
    own = plugin.definition.validate(given)
    if plugin.validate is not None:
        own = plugin.validate(given, own)
    found = [
        *_framework(given, plugin, plugins, worker),
        *_chain(given, plugins),
        *own,
        *_converters(given, plugins),
        *_overrides(given, worker, plugin),
    ]
    return report(plugin.name, found)


def connector_plugin(given: Mapping[str, str], plugins: Plugins) -> Plugin:
    """The class of a connector; BadRequestException if there is none."""
    name = given.get(keys.CLASS)
    if name is None:
        shown = ", ".join(f"{key}={given[key]}" for key in sorted(given))
        raise BadRequestException(f"Connector config {{{shown}}} contains no connector type")
    plugin = plugins.find(Role.CONNECTOR, name)
    if plugin is None:
        known = plugins.names(Role.CONNECTOR)
        raise BadRequestException(
            "Failed to find any class that implements Connector and which name matches "
            f"{name}, available connectors are: {', '.join(known)}{meant(name, known)}"
        )
    return plugin


# --- keys of every connector ---


def _framework(
    given: Mapping[str, str], plugin: Plugin, plugins: Plugins, worker: WorkerTraits
) -> list[Found]:
    base = keys.SOURCE if plugin.is_source else keys.SINK
    version = replace(
        base.by_name[keys.VERSION],
        default=plugin.version,
        recommend=lambda _: [plugin.version],
    )
    changed = [version]
    for name, role in _ROLES.items():
        default = worker.converters[name]
        resolved = plugins.find(role, given.get(name, default))
        changed += [
            replace(base.by_name[name], default=default),
            replace(
                base.by_name[name + keys.PLUGIN_VERSION],
                default=None if resolved is None else resolved.version,
                recommend=_only(None if resolved is None else resolved.version),
                visible=_always(_known(plugins, given.get(name, default)) is not None),
            ),
        ]
    found = {each.key.name: each for each in base.plus(*changed).validate(given)}
    for name, role in _ROLES.items():
        found[name] = classed(found[name], given.get(name, worker.converters[name]), role, plugins)
    checked = _source_faults if plugin.is_source else _sink_faults
    for name, error in checked(given, plugin, worker, found):
        found[name] = replace(found[name], errors=(*found[name].errors, error))
    return list(found.values())


def classed(found: Found, name: str | None, role: Role, plugins: Plugins) -> Found:
    """What is found of a key whose value must be the name of a class in a role."""
    offered = tuple(plugins.names(role))
    if name is None:
        return replace(found, recommended=offered)
    plugin = plugins.find(role, name)
    if plugin is not None:
        return replace(found, value=plugin.name, recommended=offered)
    other = _known(plugins, name)
    if other is not None:
        error = f"Class class {other.name} does not implement the {role.value} interface"
    else:
        error = (
            f"Invalid value {name} for configuration {found.key.name}: "
            f"Class {name} could not be found.{meant(name, offered)}"
        )
    value = None if other is None else other.name
    return replace(found, value=value, recommended=offered, errors=(*found.errors, error))


def _known(plugins: Plugins, name: str) -> Plugin | None:
    """The class of that name, whatever it is used as."""
    found = (plugins.find(role, name) for role in Role)
    return next((each for each in found if each is not None), None)


def _only(version: str | None) -> Callable[[Mapping[str, object]], list[str]]:
    return lambda _: [] if version is None else [version]


def _always(shown: bool) -> Callable[[Mapping[str, object]], bool]:
    return lambda _: shown


def _source_faults(
    given: Mapping[str, str], plugin: Plugin, worker: WorkerTraits, found: Mapping[str, Found]
) -> list[tuple[str, str]]:
    errors = []
    if not found[keys.EXACTLY_ONCE].errors and _said(given, keys.EXACTLY_ONCE) == "required":
        if not worker.exactly_once:
            errors.append((keys.EXACTLY_ONCE, _DISABLED))
        elif not plugin.exactly_once:
            reason = _UNSAID if plugin.exactly_once is None else _UNSUPPORTED
            errors.append((keys.EXACTLY_ONCE, reason))
    if _said(given, keys.BOUNDARY) == "connector" and not plugin.own_boundaries:
        errors.append((keys.BOUNDARY, _NO_BOUNDARIES))
    return errors


def _said(given: Mapping[str, str], name: str) -> str:
    return (given.get(name) or "").strip().lower()


def _sink_faults(
    given: Mapping[str, str], plugin: Plugin, worker: WorkerTraits, found: Mapping[str, Found]
) -> list[tuple[str, str]]:
    listed, pattern = found[keys.TOPICS], found[keys.TOPICS_REGEX]
    names = listed.value if isinstance(listed.value, list) else []
    named, matched = bool(_said(given, keys.TOPICS)), bool(_said(given, keys.TOPICS_REGEX))
    if named and matched:
        return [(keys.TOPICS, _TWO_TOPICS), (keys.TOPICS_REGEX, _TWO_TOPICS)]
    if not named and not matched:
        return [(keys.TOPICS, _NO_TOPICS), (keys.TOPICS_REGEX, _NO_TOPICS)]
    dead_letters = (given.get(keys.DEAD_LETTERS) or "").strip()
    if not dead_letters or listed.errors or pattern.errors:
        return []
    if dead_letters in names:
        shown = f"[{', '.join(names)}]"
        reason = (
            f"The DLQ topic '{dead_letters}' may not be included in the list of topics "
            f"('topics={shown}') consumed by the connector"
        )
        return [(keys.TOPICS, reason)]
    if matched and compile_java(given[keys.TOPICS_REGEX]).fullmatch(dead_letters):
        reason = (
            f"The DLQ topic '{dead_letters}' may not be matched by the regex for the topics "
            f"('topics.regex={given[keys.TOPICS_REGEX]}') consumed by the connector"
        )
        return [(keys.TOPICS_REGEX, reason)]
    return []


def _other_version(given: Mapping[str, str], plugin: Plugin, wanted: str) -> list[Found]:
    """Only the keys of every connector: the class that the others would come from is missing."""
    reason = (
        f"Plugin {plugin.name} not found that matches the version range [{wanted},{wanted}], "
        f"available versions: [{plugin.version}]"
    )
    hidden = {name + keys.PLUGIN_VERSION for name in keys.CONVERTERS}
    found = []
    for each in keys.COMMON.validate(given):
        if each.key.name in (keys.CLASS, keys.VERSION):
            each = replace(each, errors=(*each.errors, reason))
        if each.key.name == keys.VERSION:
            each = replace(each, recommended=(plugin.version,))
        found.append(replace(each, visible=each.key.name not in hidden))
    return found


# --- keys of what the settings name ---


def _chain(given: Mapping[str, str], plugins: Plugins) -> list[Found]:
    """Keys of transforms, then of predicates, alias by alias."""
    found: list[Found] = []
    for setting, role, made in (
        (keys.TRANSFORMS, Role.TRANSFORM, transform_keys),
        (keys.PREDICATES, Role.PREDICATE, predicate_keys),
    ):
        for alias in _aliases(given, setting):
            prefix = f"{setting}.{alias}."
            named = given.get(prefix + "type")
            plugin = None if named is None else plugins.find(role, named.strip())
            definition = made(
                alias,
                None if plugin is None else plugin.definition,
                None if plugin is None else plugin.version,
            )
            one = definition.validate(given)
            one[0] = classed(one[0], None if named is None else named.strip(), role, plugins)
            if prefix + "negate" in given and prefix + "predicate" not in given:
                one[0] = replace(one[0], errors=(*one[0].errors, _negated(prefix)))
            found += one
    return found


def _negated(prefix: str) -> str:
    return (
        f"Config '{prefix}negate' was provided but there is no config '{prefix}predicate' "
        "defining a predicate to be negated."
    )


def _aliases(given: Mapping[str, str], setting: str) -> list[str]:
    """The aliases that a list names, each once."""
    text = given.get(setting, "").strip()
    return list(dict.fromkeys(part.strip() for part in text.split(","))) if text else []


def _converters(given: Mapping[str, str], plugins: Plugins) -> list[Found]:
    """Keys of the converters that the connector names itself; their errors have the bare names."""
    found: list[Found] = []
    for name, role in _ROLES.items():
        plugin = plugins.find(role, given[name]) if name in given else None
        if plugin is None:
            continue
        prefix = name + "."
        own = {
            key.removeprefix(prefix): value
            for key, value in given.items()
            if key.startswith(prefix)
        }
        own["converter.type"] = name.partition(".")[0]
        bare = plugin.definition.validate(own)
        under = plugin.definition.under(prefix).keys
        found += [replace(each, key=key) for each, key in zip(bare, under, strict=True)]
    return found


def _overrides(given: Mapping[str, str], worker: WorkerTraits, plugin: Plugin) -> list[Found]:
    found = []
    for name, refusal in refusals(worker.policy, given).items():
        errors = [] if refusal is None else [refusal]
        value = given[name]
        if name == _GROUP and not plugin.is_source and value == worker.group_id:
            conflict = f"Consumer group {value} conflicts with Connect worker group {value}"
            errors.insert(0, conflict)
        bare = name.partition(".override.")[2]
        key = Key(name, Kind.STRING, None, "A setting of the Kafka client.", display_name=bare)
        found.append(Found(key, value, tuple(errors)))
    return found
