"""`/connector-plugins`: the classes that settings may name, and settings checked before use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import msgspec

from headrace.http.endpoint import Query
from headrace.pipelines.connect.api.bodies import Given, texts
from headrace.pipelines.connect.api.call import Call
from headrace.pipelines.connect.api.endpoint import new_table
from headrace.pipelines.connect.config import connector as keys
from headrace.pipelines.connect.config.plugins import Plugin, Role
from headrace.pipelines.connect.config.providers import resolved
from headrace.pipelines.connect.config.report import ConfigInfos, ConfigKeyInfo, key_info
from headrace.pipelines.connect.config.validate import validate
from headrace.pipelines.connect.faults import BadRequestException, NotFoundException
from headrace.pipelines.connect.worker.catalogue import Catalogue

table: Final = new_table(tag="Plugins")

_SUFFIX: Final = "Connector"
_KINDS: Final = {
    Role.TRANSFORM: "transformation",
    Role.PREDICATE: "predicate",
    Role.CONVERTER: "converter",
    Role.HEADER_CONVERTER: "header_converter",
}


class PluginInfo(msgspec.Struct):
    """A class, what it is used as, and its version."""

    name: str = msgspec.field(name="class")
    type: str
    version: str


@table.get(
    "/connector-plugins",
    "The classes that settings may name",
    query=(Query("connectorsOnly", bool, "Whether only connectors are wanted", default=True),),
    reply=list[PluginInfo],
)
def list_all(call: Call) -> list[PluginInfo]:
    connectors = sorted(_every(Role.CONNECTOR), key=lambda plugin: plugin.is_source)
    found = [
        PluginInfo(each.name, "source" if each.is_source else "sink", each.version)
        for each in connectors
    ]
    if not call.flag("connectorsOnly", default=True):
        found += [
            PluginInfo(each.name, kind, each.version)
            for role, kind in _KINDS.items()
            for each in _every(role)
        ]
    return found


def _every(role: Role) -> Iterator[Plugin]:
    catalogue = Catalogue()
    for name in catalogue.names(role):
        if (found := catalogue.find(role, name)) is not None:
            yield found


@table.get(
    "/connector-plugins/{name}/config",
    "The settings that a class has",
    reply=list[ConfigKeyInfo],
)
def config(call: Call) -> list[ConfigKeyInfo]:
    role, plugin = _found(call.name)
    every = plugin.definition
    if role is Role.CONNECTOR:
        common = keys.SOURCE if plugin.is_source else keys.SINK
        version = replace(common.by_name[keys.VERSION], default=plugin.version)
        every = every.plus(common, version)
    return [key_info(key) for key in every.keys]


def _found(name: str) -> tuple[Role, Plugin]:
    catalogue = Catalogue()
    for role in Role:
        if (plugin := catalogue.find(role, name)) is not None:
            return role, plugin
    raise NotFoundException(f"Unknown plugin {name}.")


@table.put(
    "/connector-plugins/{name}/config/validate",
    "All that is wrong with a connector's settings, key by key",
    body=Given,
    reply=ConfigInfos,
)
def check(call: Call) -> ConfigInfos:
    given = texts(call.body)
    included = given.get(keys.CLASS)
    if included is not None and not _alias(included).endswith(_alias(call.name)):
        raise BadRequestException(
            f"Included connector type {included} does not match request type {call.name}"
        )
    service = call.service
    return validate(resolved(given, service.providers), Catalogue(), service.config.traits)


def _alias(name: str) -> str:
    return name.removesuffix(_SUFFIX) or name
