"""Kafka Connect's own converters in a JVM, and the notation in which values go there and back.

`shown` writes what Python holds as `Converters.java` shows what Java holds; `schema_from` and
`value_from` read it. Integers and floats without a schema have no width in Python, so `alike`
compares what both mean.
"""

from __future__ import annotations

import base64
import datetime
import json
import math
import struct
import subprocess
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from headrace.pipelines.connect.model import schema as schemas
from headrace.pipelines.connect.model.schema import EPOCH, Field, Float32, Schema, Struct, Type
from tests.kafka.apache_kafka import classpath, java_command
from tests.kafka.toolchain import spawn, stop

_INTEGERS = {Type.INT8: "i8", Type.INT16: "i16", Type.INT32: "i32", Type.INT64: "i64"}


class Oracle:
    """The program, started once."""

    def __init__(self, stderr_path: Path) -> None:
        source = Path(__file__).with_name("Converters.java")
        # Temporal text is parsed and printed in the JVM's time zone where Connect names none.
        command = java_command(classpath(), "-Duser.timezone=UTC", source)
        with stderr_path.open("wb") as stderr:
            self._process = spawn(command, stdin=subprocess.PIPE, stderr=stderr)

    def close(self) -> None:
        stop(self._process)

    def ask(self, **command: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the oracle has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def encode(
        self,
        java_class: str,
        schema: Schema | None,
        value: object,
        config: Mapping[str, str] | None = None,
        *,
        key: bool = False,
    ) -> dict[str, Any]:
        shown = {"schema": shown_schema(schema), "value": shown_value(schema, value)}
        named: dict[str, object] = {"class": java_class, "config": dict(config or {}), "key": key}
        answer = self.ask(op="encode", **named, **shown)
        if answer.get("data") is not None:
            answer["data"] = base64.b64decode(answer["data"])
        return answer

    def decode(
        self,
        java_class: str,
        data: bytes | None,
        config: Mapping[str, str] | None = None,
        *,
        key: bool = False,
    ) -> dict[str, Any]:
        text = None if data is None else base64.b64encode(data).decode()
        named: dict[str, object] = {"class": java_class, "config": dict(config or {}), "key": key}
        return self.ask(op="decode", **named, data=text)


# --- what Python holds, as Java shows it ---


def shown_schema(schema: Schema | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    shown: dict[str, Any] = {"type": schema.type.value, "optional": schema.optional}
    for name in ("name", "version", "doc"):
        if getattr(schema, name) is not None:
            shown[name] = getattr(schema, name)
    if schema.parameters is not None:
        shown["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        shown["default"] = shown_value(schema, schema.default)
    if schema.type is Type.STRUCT:
        shown["fields"] = [[field.name, shown_schema(field.schema)] for field in schema.fields]
    if schema.keys is not None:
        shown["keys"] = shown_schema(schema.keys)
    if schema.values is not None:
        shown["values"] = shown_schema(schema.values)
    return shown


def shown_value(schema: Schema | None, value: object) -> list[Any] | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, int):
        return [_INTEGERS.get(schema.type, "i64") if schema else "i64", str(value)]
    if isinstance(value, float):
        return _shown_float(schema, value)
    if isinstance(value, str):
        return ["str", value]
    if isinstance(value, bytes):
        return ["bytes", base64.b64encode(value).decode()]
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        return ["dec", str(unscaled), -exponent]
    if isinstance(value, datetime.date | datetime.time):
        return ["ms", str(milliseconds(value))]
    keys, items = (schema.keys, schema.values) if schema else (None, None)
    if isinstance(value, list):
        return ["list", [shown_value(items, item) for item in value]]
    if isinstance(value, dict):
        pairs = value.items()
        return ["map", [[shown_value(keys, k), shown_value(items, v)] for k, v in pairs]]
    assert isinstance(value, Struct), value
    held = zip(value.schema.fields, value.values, strict=True)
    return ["struct", [shown_value(field.schema, item) for field, item in held]]


def _shown_float(schema: Schema | None, value: float) -> list[Any]:
    if math.isnan(value):  # of which there is one in Java's `floatToIntBits`
        value = type(value)("nan")
    if isinstance(value, Float32) or (schema is not None and schema.type is Type.FLOAT32):
        return ["f32", struct.unpack(">i", struct.pack(">f", value))[0]]
    return ["f64", str(struct.unpack(">q", struct.pack(">d", value))[0])]


def milliseconds(value: datetime.date | datetime.time) -> int:
    """What `java.util.Date.getTime` gives."""
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(milliseconds=1)
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return seconds * 1000 + value.microsecond // 1000
    return (value - EPOCH.date()).days * 86_400_000


# --- what Java shows, as Python holds it ---


def schema_from(shown: Mapping[str, Any] | None) -> Schema | None:
    if shown is None:
        return None
    fields = tuple(Field(name, some_schema(part)) for name, part in shown.get("fields", ()))
    made = Schema(
        Type(shown["type"]),
        shown["optional"],
        None,
        shown.get("name"),
        shown.get("version"),
        shown.get("doc"),
        shown.get("parameters"),
        fields,
        schema_from(shown.get("keys")),
        schema_from(shown.get("values")),
    )
    if "default" in shown:
        made = made.but(default=value_from(made, shown["default"]))
    return made


def some_schema(shown: Mapping[str, Any]) -> Schema:
    made = schema_from(shown)
    assert made is not None
    return made


def value_from(schema: Schema | None, shown: list[Any] | None) -> Any:
    if shown is None:
        return None
    kind, content = shown[0], shown[1]
    if kind in ("i8", "i16", "i32", "i64"):
        return int(content)
    if kind == "f32":
        return Float32(struct.unpack(">f", struct.pack(">i", content))[0])
    if kind == "f64":
        return struct.unpack(">d", struct.pack(">q", int(content)))[0]
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "dec":
        digits = tuple(map(int, content.lstrip("-")))
        return Decimal((int(content.startswith("-")), digits, -shown[2]))
    if kind == "ms":
        return _moment(schema, int(content))
    keys, items = (schema.keys, schema.values) if schema else (None, None)
    if kind == "list":
        return [value_from(items, item) for item in content]
    if kind == "map":
        return {value_from(keys, k): value_from(items, v) for k, v in content}
    if kind == "struct":
        assert schema is not None
        parts = zip(schema.fields, content, strict=True)
        return Struct(schema, [value_from(field.schema, item) for field, item in parts])
    return content


def _moment(schema: Schema | None, at: int) -> object:
    moment = EPOCH + datetime.timedelta(milliseconds=at)
    if schema is not None and schema.name == schemas.DATE:
        return moment.date()
    if schema is not None and schema.name == schemas.TIME:
        return moment.time()
    return moment


def normal(shown: object) -> object:
    """A shown value without the order of maps and without widths that Python does not have."""
    if not isinstance(shown, list) or not shown:
        return shown
    if shown[0] in ("i8", "i16", "i32", "i64"):
        return ["int", shown[1]]
    if shown[0] == "list":
        return ["list", [normal(item) for item in shown[1]]]
    if shown[0] == "map":
        return ["map", sorted(([normal(k), normal(v)] for k, v in shown[1]), key=repr)]
    if shown[0] == "struct":
        return ["struct", [normal(item) for item in shown[1]]]
    return shown


def normal_schema(shown: object) -> object:
    """A shown schema in which defaults are normal."""
    if isinstance(shown, dict):
        said = {name: normal_schema(part) for name, part in shown.items()}
        return said | ({"default": normal(shown["default"])} if "default" in shown else {})
    return [normal_schema(part) for part in shown] if isinstance(shown, list) else shown
