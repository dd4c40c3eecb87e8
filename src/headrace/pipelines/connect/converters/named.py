"""Converters by the names that configurations give them: Java's class, or its simple name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.faults import ConfigException

_HERE: Final = "headrace.pipelines.connect.converters."
_CONVERTERS: Final[Mapping[str, str]] = {
    "org.apache.kafka.connect.json.JsonConverter": "json.converter:JsonConverter",
    "org.apache.kafka.connect.storage.StringConverter": "string:StringConverter",
    "org.apache.kafka.connect.storage.SimpleHeaderConverter": "simple_header:SimpleHeaderConverter",
    "org.apache.kafka.connect.converters.ByteArrayConverter": "bytes_:ByteArrayConverter",
}


def converter_named(name: str, given: Mapping[str, object]) -> Converter:
    """The converter of that class, told what is given; ConfigException if there is none."""
    known = {simple.rpartition(".")[2]: simple for simple in _CONVERTERS}
    full = known.get(name, name)
    if full not in _CONVERTERS:
        near = difflib.get_close_matches(name, [*_CONVERTERS, *known], n=2)
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ConfigException(f"Class {name} could not be found{meant}")
    module, _, kind = _CONVERTERS[full].partition(":")
    build: Callable[[Mapping[str, object]], Converter] = getattr(
        import_module(_HERE + module), kind
    )
    return build(given)
