"""Values of an Avro schema, as its `arg.properties` want them, in Avro's JSON encoding.

| property | of | value |
|---|---|---|
| `options` | any type | one of these values |
| `range` | numbers | from `min` to below `max` |
| `iteration` | numbers | `start`, then `step` more each time, from `start` again at `restart` |
| `regex` | string | a text that matches |
| `length` | string, bytes, array, map | a number, or from `min` to below `max` |
| `odds` | boolean | how likely true is |
| `keys` | map | properties of its keys |

The same seed and the same iteration give the same value, whatever was made before.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from random import Random
from typing import Final, TypeAlias

from headrace.pipelines.connect.connectors.datagen.patterns import text_of
from headrace.pipelines.connect.faults import ConfigException
from headrace.schemas.avro import schema as avro
from headrace.schemas.avro.logical import logical_type
from headrace.schemas.avro.schema import AvroType, Json

Generate: TypeAlias = Callable[[Random, int], Json]
"""The value of an iteration."""

PROPERTIES: Final = "arg.properties"
_ALPHABET: Final = string.ascii_letters + string.digits
_LENGTHS: Final = {"string": (8, 16), "bytes": (2, 9), "array": (1, 4), "map": (1, 4)}
_WHOLE: Final = {"int": (-(2**31), 2**31), "long": (-(2**63), 2**63)}
_LOGICAL: Final = {
    "date": (0, 36_525),
    "time-millis": (0, 86_400_000),
    "time-micros": (0, 86_400_000_000),
    "timestamp-millis": (0, 4_102_444_800_000),
    "timestamp-micros": (0, 4_102_444_800_000_000),
}
_KNOWN: Final = {
    "int": {"range", "iteration"},
    "long": {"range", "iteration"},
    "float": {"range", "iteration"},
    "double": {"range", "iteration"},
    "string": {"regex", "length"},
    "bytes": {"length"},
    "array": {"length"},
    "map": {"length", "keys"},
    "boolean": {"odds"},
}


def generator_of(node: AvroType) -> Generate:
    """What makes values of a type; ConfigException if its properties cannot be understood."""
    if isinstance(node, avro.Union):
        return _one_branch(node)
    said = _properties(node)
    options = said.get("options")
    if options is not None:
        if not isinstance(options, list) or not options:
            raise ConfigException.of("options", options, "a list of values is expected")
        return lambda rng, at: rng.choice(options)
    if isinstance(node, avro.Record):
        parts = [(part.name, generator_of(part.type)) for part in node.fields]
        return lambda rng, at: {name: make(rng, at) for name, make in parts}
    if isinstance(node, avro.Array):
        item, length = generator_of(node.items), _length("array", said)
        return lambda rng, at: [item(rng, at) for _ in range(length(rng))]
    if isinstance(node, avro.Map):
        return _map(node, said)
    if isinstance(node, avro.Enum):
        symbols = node.symbols
        return lambda rng, at: rng.choice(symbols)
    if isinstance(node, avro.Fixed):
        size = node.size
        return lambda rng, at: rng.randbytes(size).decode("latin-1")
    return _primitive(node, said)


def _properties(node: AvroType) -> Mapping[str, Json]:
    assert not isinstance(node, avro.Union)
    said = node.props.get(PROPERTIES, {})
    if not isinstance(said, dict):
        raise ConfigException.of(PROPERTIES, said, "an object is expected")
    known = _KNOWN.get(node.kind, set()) | {"options"}
    unknown = sorted(said.keys() - known)
    if unknown:
        offered = ", ".join(sorted(known))
        raise ConfigException.of(
            PROPERTIES, unknown[0], f"{node.kind} has no such property; it has: {offered}"
        )
    return said


def _one_branch(node: avro.Union) -> Generate:
    branches = [
        (tag, None if branch.kind == "null" else generator_of(branch))
        for tag, branch in zip(node.tags, node.branches, strict=True)
    ]

    def make(rng: Random, at: int) -> Json:
        tag, branch = rng.choice(branches)
        return None if branch is None else {tag: branch(rng, at)}

    return make


def _map(node: avro.Map, said: Mapping[str, Json]) -> Generate:
    about = said.get("keys", {})
    if not isinstance(about, dict):
        raise ConfigException.of("keys", about, "an object is expected")
    key = generator_of(avro.Primitive("string", {PROPERTIES: about}))
    item, length = generator_of(node.values), _length("map", said)
    return lambda rng, at: {str(key(rng, at)): item(rng, at) for _ in range(length(rng))}


def _primitive(node: avro.Primitive, said: Mapping[str, Json]) -> Generate:
    kind = node.kind
    if kind == "null":
        return lambda rng, at: None
    if kind == "boolean":
        odds = said.get("odds", 0.5)
        if not isinstance(odds, int | float) or not 0 <= odds <= 1:
            raise ConfigException.of("odds", odds, "a number from 0 to 1 is expected")
        return lambda rng, at: rng.random() < odds
    if kind == "string":
        return _string(said)
    if kind == "bytes":
        length = _length(kind, said)
        return lambda rng, at: rng.randbytes(length(rng)).decode("latin-1")
    if "iteration" in said:
        return _iteration(kind, said["iteration"])
    if kind in _WHOLE:
        least, most = _WHOLE[kind]
        usual = _LOGICAL.get(logical_type(node) or "", (least, most))
        low, high = _bounds("range", said.get("range"), usual)
        if not least <= low < high <= most:
            raise ConfigException.of("range", said.get("range"), f"{kind} cannot hold it")
        return lambda rng, at: rng.randrange(int(low), int(high))
    low, high = _bounds("range", said.get("range"), (0.0, 1.0))
    return lambda rng, at: low + (high - low) * rng.random()


def _string(said: Mapping[str, Json]) -> Generate:
    pattern = said.get("regex")
    if pattern is not None:
        text = text_of(str(pattern))
        return lambda rng, at: text(rng)
    length = _length("string", said)
    return lambda rng, at: "".join(rng.choices(_ALPHABET, k=length(rng)))


def _length(kind: str, said: Mapping[str, Json]) -> Callable[[Random], int]:
    wanted = said.get("length")
    if isinstance(wanted, int) and not isinstance(wanted, bool) and wanted >= 0:
        exactly = wanted
        return lambda rng: exactly
    low, high = _bounds("length", wanted, _LENGTHS[kind])
    if low < 0:
        raise ConfigException.of("length", wanted, "a length is at least 0")
    return lambda rng: rng.randrange(int(low), int(high))


def _bounds(name: str, given: Json, usual: tuple[float, float]) -> tuple[float, float]:
    """`min` and `max` as they are given, or else as usual."""
    if given is None:
        return usual
    if not isinstance(given, dict):
        raise ConfigException.of(name, given, "min and max are expected")
    low, high = _number(name, given.get("min")), _number(name, given.get("max"))
    low, high = usual[0] if low is None else low, usual[1] if high is None else high
    if not low < high:
        raise ConfigException.of(name, given, "min must be less than max")
    return low, high


def _iteration(kind: str, given: Json) -> Generate:
    if not isinstance(given, dict):
        raise ConfigException.of("iteration", given, "start, and step and restart if need be")
    start, step = (
        _number("iteration", given.get(key, usual)) for key, usual in (("start", None), ("step", 1))
    )
    restart = _number("iteration", given.get("restart"))
    first = _number("iteration", given.get("initial", start))
    if start is None or step is None or first is None:
        raise ConfigException.of("iteration", given, "start is missing")
    if restart is not None and (restart - start) * step <= 0:
        raise ConfigException.of("iteration", given, "step does not lead from start to restart")
    made = int if kind in _WHOLE else float

    def make(rng: Random, at: int) -> Json:
        value = first + step * at
        if restart is not None:
            value = start + (value - start) % (restart - start)
        return made(value)

    return make


def _number(name: str, value: Json) -> int | float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise ConfigException.of(name, value, "a number is expected")
