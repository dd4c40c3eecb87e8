"""All classes that settings may name, in every role: what validation looks things up in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from headrace import __version__
from headrace.pipelines.connect import plugins
from headrace.pipelines.connect.config.plugins import Plugin, Role
from headrace.pipelines.connect.converters.named import CONVERTERS, NamedConverter
from headrace.pipelines.connect.faults import ConnectException
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
            return None if own is None else Plugin(own.name, __version__, own.definition)
        for converter in _converters(role):
            if name in (converter.java_class, converter.simple_name):
                return Plugin(converter.java_class, __version__, converter.definition)
        return None

    def names(self, role: Role) -> Sequence[str]:
        """The full names of all classes in a role."""
        if role is Role.CONNECTOR:
            return [each.name for each in plugins.plugins()]
        if role in _CHAINED:
            return [each.name for each in _CHAINED[role]]
        return [each.java_class for each in _converters(role)]


def _connector(name: str) -> Plugin | None:
    try:
        listed = plugins.find(name)
    except ConnectException:
        if ":" in name:
            raise  # it says why the file cannot be used
        return None
    definition = connector_of(listed.load()).settings.definition
    return Plugin(listed.name, listed.version, definition, is_source=listed.kind == "source")


def _converters(role: Role) -> list[NamedConverter]:
    for_headers = role is Role.HEADER_CONVERTER
    return [each for each in CONVERTERS if (each.headers if for_headers else each.records)]
