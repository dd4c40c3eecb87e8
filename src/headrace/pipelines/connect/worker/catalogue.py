"""All classes that settings may name, in every role: what validation looks things up in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from headrace import __version__
from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config.plugins import Plugin, Role
from headrace.pipelines.connect.converters.named import CONVERTERS, NamedConverter
from headrace.pipelines.connect.faults import ConnectException
from headrace.pipelines.connect.java.found import java_class, java_classes
from headrace.pipelines.connect.tasks import connector_of
from headrace.pipelines.connect.transforms.named import PREDICATES, TRANSFORMS
from headrace.pipelines.connect.transforms.named import Plugin as Chained
from headrace.pipelines.connect.transforms.transform import Predicate, Transform

_CHAINED: Final[Mapping[Role, Sequence[Chained[Transform] | Chained[Predicate]]]] = {
    Role.TRANSFORM: TRANSFORMS,
    Role.PREDICATE: PREDICATES,
}


class Catalogue:
    """The `Plugins` of a worker."""

    def find(self, role: Role, name: str) -> Plugin | None:
        """The class of that name in a role, by its full name, its last part or an alias."""
        if role is Role.CONNECTOR:
            return _connector(name)
        if role in _CHAINED:
            for each in _CHAINED[role]:
                if name in (each.name, each.simple_name):
                    return Plugin(each.name, __version__, each.definition)
            own = plugins.transform(name) if role is Role.TRANSFORM else None
            if own is not None:
                return Plugin(own.name, __version__, own.definition)
        for converter in _converters(role):
            if name in (converter.java_class, converter.simple_name):
                return Plugin(converter.java_class, __version__, converter.definition)
        return _in_jars(role, name)

    def names(self, role: Role) -> Sequence[str]:
        """The full names of all classes in a role."""
        if role is Role.CONNECTOR:
            return [each.name for each in plugins.plugins()]
        java = [each.name for each in java_classes() if each.role is role]
        if role in _CHAINED:
            known = [each.name for each in _CHAINED[role]]
        else:
            known = [each.java_class for each in _converters(role)]
        return list(dict.fromkeys((*known, *java)))


def _connector(name: str) -> Plugin | None:
    try:
        listed = plugins.find(name)
    except ConnectException:
        if ":" in name:
            raise  # it says why the file cannot be used
        return None
    task = listed.load()
    said = connector_of(task)
    return Plugin(
        listed.name,
        said.version,
        said.settings.definition,
        is_source=listed.kind == "source",
        validate=task.validate,
        exactly_once=said.exactly_once,
        own_boundaries=said.own_boundaries,
    )


def _in_jars(role: Role, name: str) -> Plugin | None:
    """A class of `plugin.path`, which a JVM is asked for its settings."""
    found = java_class(role, name)
    if found is None:
        return None
    from headrace.pipelines.connect.java.connector import described

    version, definition = described(found.name)
    return Plugin(found.name, version, definition)


def _converters(role: Role) -> list[NamedConverter]:
    if role in _CHAINED:
        return []
    for_headers = role is Role.HEADER_CONVERTER
    return [each for each in CONVERTERS if (each.headers if for_headers else each.records)]
