"""The transforms and predicates that come with Connect, by the names that configurations give them.

A name is the class in Java (`org.apache.kafka.connect.transforms.Cast$Value`) or its last part.
Plugins of others are handed in; finding them is not done here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Generic, TypeVar

from headrace.pipelines.connect.config.definition import Definition
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.transforms.cast import Cast
from headrace.pipelines.connect.transforms.drop_headers import DropHeaders
from headrace.pipelines.connect.transforms.extract_field import ExtractField
from headrace.pipelines.connect.transforms.filter import Filter
from headrace.pipelines.connect.transforms.flatten import Flatten
from headrace.pipelines.connect.transforms.function import FunctionTransform
from headrace.pipelines.connect.transforms.header_from import HeaderFrom
from headrace.pipelines.connect.transforms.hoist_field import HoistField
from headrace.pipelines.connect.transforms.insert_field import InsertField
from headrace.pipelines.connect.transforms.insert_header import InsertHeader
from headrace.pipelines.connect.transforms.mask_field import MaskField
from headrace.pipelines.connect.transforms.predicates import (
    HasHeaderKey,
    RecordIsTombstone,
    TopicNameMatches,
)
from headrace.pipelines.connect.transforms.regex_router import RegexRouter
from headrace.pipelines.connect.transforms.replace_field import ReplaceField
from headrace.pipelines.connect.transforms.set_schema_metadata import SetSchemaMetadata
from headrace.pipelines.connect.transforms.side import Side
from headrace.pipelines.connect.transforms.timestamp_converter import TimestampConverter
from headrace.pipelines.connect.transforms.timestamp_router import TimestampRouter
from headrace.pipelines.connect.transforms.transform import Predicate, Transform
from headrace.pipelines.connect.transforms.value_to_key import ValueToKey

_PACKAGE: Final = "org.apache.kafka.connect.transforms."
_Built = TypeVar("_Built", Transform, Predicate)


@dataclass(frozen=True, slots=True)
class Plugin(Generic[_Built]):
    """What a configuration can name. `build` reads its settings, ConfigException if wrong."""

    name: str
    definition: Definition
    doc: str
    build: Callable[[Mapping[str, object]], _Built]

    @property
    def simple_name(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


_OF_A_SIDE: Final = (
    (Cast, "Casts fields, or the whole {side}, to another type."),
    (ExtractField, "Puts one field of the {side} in the place of the whole."),
    (Flatten, "Makes nested fields of the {side} fields of the whole, and joins their names."),
    (HeaderFrom, "Moves or copies fields of the {side} to headers."),
    (HoistField, "Makes the whole {side} the one field of a struct or map."),
    (InsertField, "Adds the topic, partition, offset, timestamp or a constant to the {side}."),
    (MaskField, "Replaces fields of the {side} by nothing of their type, or by a constant."),
    (ReplaceField, "Leaves out, keeps or renames fields of the {side}."),
    (SetSchemaMetadata, "Sets the name or the version of the schema of the {side}."),
    (TimestampConverter, "Converts timestamps in the {side} between strings, numbers and dates."),
)
_OF_THE_WHOLE: Final = (
    (DropHeaders, "Leaves out headers by their names."),
    (Filter, "Drops every record; with a predicate, those that it is true of."),
    (InsertHeader, "Adds a header with a constant value."),
    (RegexRouter, "Renames topics by a regular expression and a replacement."),
    (TimestampRouter, "Puts the record's timestamp into the name of its topic."),
    (ValueToKey, "Makes fields of the value the key."),
)
_PREDICATES: Final = (
    (HasHeaderKey, "True of records with a header of a name."),
    (RecordIsTombstone, "True of records without a value."),
    (TopicNameMatches, "True of records whose topic's name matches a regular expression."),
)


def _transforms() -> Iterable[Plugin[Transform]]:
    for sided, doc in _OF_A_SIDE:
        for side in Side:
            told = doc.format(side=side.name.lower())
            name = f"{_PACKAGE}{sided.__name__}${side.value}"
            yield Plugin(name, sided.definition, told, partial(sided, side))
    for whole, doc in _OF_THE_WHOLE:
        yield Plugin(_PACKAGE + whole.__name__, whole.definition, doc, whole)


TRANSFORMS: Final = tuple(sorted(_transforms(), key=lambda plugin: plugin.name))
PREDICATES: Final[tuple[Plugin[Predicate], ...]] = tuple(
    Plugin(f"{_PACKAGE}predicates.{kind.__name__}", kind.definition, doc, kind)
    for kind, doc in _PREDICATES
)


def plugin_of(declared: FunctionTransform) -> Plugin[Transform]:
    """A Python function that was declared a transform."""
    return Plugin(declared.name, declared.definition, declared.doc, declared.build)


def named(key: str, name: str, offered: Iterable[Plugin[_Built]], what: str) -> Plugin[_Built]:
    """The plugin that the setting `key` names; ConfigException tells the nearest one if none is."""
    plugins = list(offered)
    for plugin in plugins:
        if name in (plugin.name, plugin.simple_name):
            return plugin
    sides = [plugin.name for plugin in plugins if plugin.name.startswith(f"{_full(name)}$")]
    if sides:
        raise ConfigException.of(
            key,
            name,
            f"{what} is abstract and cannot be created. Did you mean {', '.join(sides)}?",
        )
    spelt = {plugin.simple_name: plugin.name for plugin in plugins}
    near = difflib.get_close_matches(name.rpartition(".")[2], spelt, n=1)
    hint = f" Did you mean {spelt[near[0]]}?" if near else ""
    raise ConfigException.of(key, name, f"Class {name} could not be found.{hint}")


def _full(name: str) -> str:
    return name if "." in name else _PACKAGE + name
