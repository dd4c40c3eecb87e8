"""`kafka-configs`: settings of topics, brokers, groups and metrics; limits; passwords.

With `--zookeeper`, as runbooks of old have it, the registered brokers are asked and the answer has
the old form: `Configs for topic 't' are k=v`.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from headrace.admin.client import Admin, Changes
from headrace.admin.faults import Refused
from headrace.admin.groups import list_groups
from headrace.admin.settings import (
    Resource,
    SettingView,
    Source,
    list_resources,
    read_settings,
)
from headrace.cli.kafka_compat.administering import CONNECTING, FAILED, Told, complain
from headrace.cli.kafka_compat.config_entities import (
    BROKER_LOGGERS,
    BROKERS,
    CLIENT_METRICS,
    DEFAULT,
    ENTITY_FLAGS,
    GROUPS,
    IPS,
    TOPICS,
    Entities,
    check_changes,
    read_entities,
)
from headrace.cli.kafka_compat.config_values import added, deleted
from headrace.cli.kafka_compat.flags import Given, flags
from headrace.cli.kafka_compat.java_errors import told
from headrace.cli.kafka_compat.superseded import OF_THE_PAST, servers_of
from headrace.cli.kafka_compat.tool import Tool, Work, on_cluster
from headrace.cli.kafka_compat.user_configs import alter_limits, describe_limits
from headrace.errors import Error, HeadraceError

_RESOURCES: Final = {
    TOPICS: (Resource.TOPIC, Source.DYNAMIC_TOPIC_CONFIG),
    BROKERS: (Resource.BROKER, Source.DYNAMIC_BROKER_CONFIG),
    BROKER_LOGGERS: (Resource.BROKER_LOGGER, None),
    CLIENT_METRICS: (Resource.CLIENT_METRICS, Source.DYNAMIC_CLIENT_METRICS_CONFIG),
    GROUPS: (Resource.GROUP, Source.DYNAMIC_GROUP_CONFIG),
}


def _plan(given: Given) -> Work:
    if given.has("--describe") == given.has("--alter"):
        raise Told("Command must include exactly one action: --describe, --alter")
    check_changes(given)
    if given.has("--bootstrap-controller"):
        raise Told("this cluster has no controllers of its own; give --bootstrap-server")
    entities = read_entities(given)
    values, names = added(given), deleted(given)
    servers = servers_of(
        given, "Either --bootstrap-server or --bootstrap-controller must be specified."
    )

    def work(admin: Admin, given: Given) -> None:
        if given.has("--alter"):
            _alter(admin, entities, values, names)
            _tell_changed(given, entities)
        else:
            _describe(admin, given, entities)

    return on_cluster(given, servers, work)


def _failed(error: HeadraceError, given: Given) -> int:
    if isinstance(error, Told):
        return complain(str(error))
    print(
        f"Error while executing config command with args '{shlex.join(given.words)}'\n"
        f"{told(error)}",
        file=sys.stderr,
    )
    return FAILED


# -- changing -------------------------------------------------------------------------------------


def _alter(
    admin: Admin, entities: Entities, values: Mapping[str, str], names: Sequence[str]
) -> None:
    kind, name = entities.types[0], entities.names[0]
    if kind not in _RESOURCES:
        alter_limits(admin, entities, values, names)
        return
    if kind == BROKER_LOGGERS:
        there = {each.name for each in _settings(admin, kind, name, everything=False)}
        if unknown := [each for each in (*names, *values) if each not in there]:
            raise Told(f"Invalid broker logger(s): {','.join(unknown)}")
    resource = _RESOURCES[kind][0]
    admin.alter_settings([Changes(resource, name, {**dict.fromkeys(names), **values})])


def _tell_changed(given: Given, entities: Entities) -> None:
    kind, name = entities.types[0], entities.names[0]
    if given.has("--zookeeper"):
        parts = ", ".join(map(_of_old, *entities))
        print(f"Completed Updating config for entity: {parts}.")
    elif name == DEFAULT:
        print(f"Completed updating default config for {kind} in the cluster.")
    else:
        print(f"Completed updating config for {kind.removesuffix('s')} {name}.")


def _of_old(kind: str, name: str) -> str:
    """An entity as tools called it that spoke to ZooKeeper."""
    singular = {"users": "user-principal", "clients": "client-id"}.get(kind, kind.removesuffix("s"))
    return f"default {singular}" if name == DEFAULT else f"{singular} '{name}'"


# -- showing --------------------------------------------------------------------------------------


def _describe(admin: Admin, given: Given, entities: Entities) -> None:
    kind = entities.types[0]
    if kind not in _RESOURCES:
        describe_limits(admin, entities, has_credentials=kind != IPS)
        return
    everything = given.has("--all")
    named = entities.names[0] if entities.names else None
    if named and not everything and not _exists(admin, kind, named):
        print(
            f"The {kind.removesuffix('s')} '{named}' doesn't exist and doesn't have dynamic config."
        )
        return
    for name in _all_of(admin, kind) if named is None else [named]:
        if given.has("--zookeeper"):
            settings = _settings(admin, kind, name, everything=everything)
            pairs = ",".join(f"{each.name}={each.value}" for each in settings)
            print(f"Configs for {_of_old(kind, name)} are {pairs}")
            continue
        if name == DEFAULT and kind == BROKERS:
            print(f"Default configs for {kind} in the cluster are:")
        else:
            which = "All" if everything else "Dynamic"
            print(f"{which} configs for {kind.removesuffix('s')} {name} are:")
        for each in _settings(admin, kind, name, everything=everything):
            print(_shown(each))


def _settings(admin: Admin, kind: str, name: str, *, everything: bool) -> list[SettingView]:
    """Those that were set for this very entity, or all of them."""
    resource, own = _RESOURCES[kind]
    if kind == BROKERS and name == DEFAULT:
        own = Source.DYNAMIC_DEFAULT_BROKER_CONFIG
    settings = read_settings(admin, resource, name)
    return [each for each in settings if everything or own in (None, each.source)]


def _exists(admin: Admin, kind: str, name: str) -> bool:
    if kind in (BROKERS, BROKER_LOGGERS):
        return int(name) in admin.describe_cluster().ids
    return name in _all_of(admin, kind)


def _all_of(admin: Admin, kind: str) -> list[str]:
    if kind == TOPICS:
        return [topic.name for topic in admin.topics()]
    if kind in (BROKERS, BROKER_LOGGERS):
        return [*map(str, sorted(admin.describe_cluster().ids)), DEFAULT]
    if kind == CLIENT_METRICS:
        return list_resources(admin, Resource.CLIENT_METRICS)
    names = {each.group for each in list_groups(admin)}
    try:
        names |= set(list_resources(admin, Resource.GROUP))
    except Refused as error:
        if error.error is not Error.UNSUPPORTED_VERSION:
            raise
    return sorted(names)


def _shown(setting: SettingView) -> str:
    synonyms = ", ".join(
        f"{each.source.name}:{each.name}={_value(each.value)}" for each in setting.synonyms
    )
    sensitive = str(setting.is_sensitive).lower()
    value = _value(setting.value)
    return f"  {setting.name}={value} sensitive={sensitive} synonyms={{{synonyms}}}"


def _value(value: str | None) -> str:
    return "null" if value is None else value


run: Final = Tool(
    "kafka-configs",
    {
        **flags(CONNECTING, "--bootstrap-controller=", OF_THE_PAST, "--describe --alter --all"),
        **ENTITY_FLAGS,
        **flags("--add-config= --add-config-file= --delete-config= --force"),
    },
    "--bootstrap-server localhost:9092 --topic orders --alter --add-config retention.ms=3600000",
    _plan,
    failed=_failed,
)
