"""Which converter a class name means: the Java class in full, or its last part.

A converter's module is imported when it is first asked for: a worker that only shows what there is
loads no Protobuf.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from headrace.pipelines.connect.config.definition import Definition
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.converters.settings import CONVERTER_TYPE
from headrace.pipelines.connect.faults import ConfigException

_HERE: Final = "headrace.pipelines.connect.converters"
_CONFLUENT: Final = "io.confluent.connect"
_APACHE: Final = "org.apache.kafka.connect"


@dataclass(frozen=True, slots=True)
class NamedConverter:
    """A converter as it is found and shown."""

    java_class: str
    module: str
    headers: bool = True  # whether it can convert headers
    records: bool = True  # whether it can convert keys and values

    @property
    def simple_name(self) -> str:
        """The last part of the class name, which is also that of the Python class."""
        return self.java_class.rpartition(".")[2]

    @property
    def definition(self) -> Definition:
        """What can be set."""
        module = self._module()
        found: Definition = module.DEFINITION
        return found

    def made(self, given: Mapping[str, object], use: str) -> Converter:
        """A converter of keys, values or headers; ConfigException if a setting is wrong."""
        kind = getattr(self._module(), self.simple_name)
        converter: Converter = kind({**given, CONVERTER_TYPE.name: use})
        return converter

    def _module(self) -> Any:
        return import_module(f"{_HERE}.{self.module}")


CONVERTERS: Final = (
    NamedConverter(f"{_APACHE}.json.JsonConverter", "json.converter"),
    NamedConverter(f"{_APACHE}.storage.StringConverter", "string"),
    NamedConverter(f"{_APACHE}.storage.SimpleHeaderConverter", "simple_header", records=False),
    NamedConverter(f"{_APACHE}.converters.ByteArrayConverter", "bytes_"),
    NamedConverter(f"{_APACHE}.converters.BooleanConverter", "numbers"),
    NamedConverter(f"{_APACHE}.converters.ShortConverter", "numbers"),
    NamedConverter(f"{_APACHE}.converters.IntegerConverter", "numbers"),
    NamedConverter(f"{_APACHE}.converters.LongConverter", "numbers"),
    NamedConverter(f"{_APACHE}.converters.FloatConverter", "numbers"),
    NamedConverter(f"{_APACHE}.converters.DoubleConverter", "numbers"),
    NamedConverter(f"{_CONFLUENT}.avro.AvroConverter", "registry.avro", headers=False),
    NamedConverter(f"{_CONFLUENT}.protobuf.ProtobufConverter", "registry.protobuf", headers=False),
    NamedConverter(f"{_CONFLUENT}.json.JsonSchemaConverter", "registry.json_schema", headers=False),
)
"""All of them."""

_BY_NAME: Final = {
    name: each for each in CONVERTERS for name in (each.java_class, each.simple_name)
}


def named(class_name: str) -> NamedConverter:
    """The converter of a class name; ConfigException names the nearest known one."""
    found = _BY_NAME.get(class_name)
    if found is not None:
        return found
    last = class_name.rpartition(".")[2]
    known = [each.simple_name for each in CONVERTERS]
    near = difflib.get_close_matches(last, known, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    raise ConfigException(f"there is no converter {class_name}: {hint}")
