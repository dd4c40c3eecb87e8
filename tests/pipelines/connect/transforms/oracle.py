"""Apache Kafka's own transforms in one JVM, asked over pipes, and the envelope of what they say.

The envelope holds a record as JSON with tags on values; `Transforms.java` beside this file speaks
it on the other side. It is of these tests alone and has nothing to do with Connect's converters.
"""

from __future__ import annotations

import base64
import datetime
import json
import subprocess
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import TracebackType

from headrace.pipelines.connect.model.record import Header, Record
from headrace.pipelines.connect.model.schema import EPOCH, Float32, Schema, Struct
from tests.kafka.apache_kafka import java_command
from tests.kafka.toolchain import need, run, spawn, stop

SOURCE = Path(__file__).with_name("Transforms.java")
MS = datetime.timedelta(milliseconds=1)


class Oracle:
    """A JVM that lives as long as the context."""

    def __init__(self, classpath: str, folder: Path) -> None:
        jars = ":".join(str(jar) for jar in sorted(Path(classpath[:-2]).glob("*.jar")))
        run([need("javac"), "-nowarn", "-cp", jars, "-d", folder, SOURCE])
        self._command = java_command(f"{folder}:{classpath}", "Transforms")

    def __enter__(self) -> Oracle:
        self._process = spawn(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop(self._process)

    def ask(
        self,
        class_name: str,
        config: Mapping[str, str],
        records: Sequence[Record],
        *,
        sink: bool = False,
    ) -> dict[str, object]:
        """What became of each record, or the fault of configuring."""
        asked = {
            "class": class_name,
            "config": dict(config),
            "sink": sink,
            "records": [shown_record(record) for record in records],
        }
        return self._answer(asked)

    def definition(self, class_name: str) -> dict[str, object]:
        """The keys of a transform or predicate."""
        return self._answer({"class": class_name})

    def _answer(self, asked: dict[str, object]) -> dict[str, object]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(asked).encode() + b"\n")
        stdin.flush()
        answer: dict[str, object] = json.loads(stdout.readline())
        return answer


def shown_record(record: Record) -> dict[str, object]:
    """A record as an envelope."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "position": record.position,
        "key_schema": shown_schema(record.key_schema),
        "key": shown(record.key, record.key_schema),
        "value_schema": shown_schema(record.value_schema),
        "value": shown(record.value, record.value_schema),
        "headers": [shown_header(header) for header in record.headers],
    }


def shown_header(header: Header) -> dict[str, object]:
    """A header as an envelope."""
    return {
        "name": header.name,
        "schema": shown_schema(header.schema),
        "value": shown(header.value, header.schema),
    }


def shown_schema(schema: Schema | None) -> dict[str, object] | None:
    """A schema as an envelope."""
    if schema is None:
        return None
    made: dict[str, object] = {
        "type": schema.type.name,
        "optional": schema.optional,
        "default": shown(schema.default, schema),
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": None if schema.parameters is None else dict(schema.parameters),
        "keys": shown_schema(schema.keys),
        "values": shown_schema(schema.values),
    }
    if schema.type.name == "STRUCT":
        made["fields"] = [
            {"name": field.name, "schema": shown_schema(field.schema)} for field in schema.fields
        ]
    return made


def shown(value: object, schema: Schema | None = None) -> object:
    """A value as an envelope; the schema tells floats of 32 bits."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return {"t": "int", "v": str(value)}
    if isinstance(value, float):
        narrow = isinstance(value, Float32) or (
            schema is not None and schema.type.name == "FLOAT32"
        )
        return {"t": "float" if narrow else "double", "v": _number(value)}
    if isinstance(value, bytes):
        return {"t": "bytes", "v": base64.b64encode(value).decode()}
    if isinstance(value, Decimal):
        return {"t": "decimal", "v": str(value)}
    if isinstance(value, datetime.date | datetime.time):
        return {"t": "date", "v": str(epoch_ms(value))}
    if isinstance(value, list):
        inner = None if schema is None else schema.values
        return {"t": "list", "v": [shown(item, inner) for item in value]}
    if isinstance(value, dict):
        keys, values = (None, None) if schema is None else (schema.keys, schema.values)
        return {"t": "map", "v": [[shown(k, keys), shown(v, values)] for k, v in value.items()]}
    assert isinstance(value, Struct), value
    same = schema is None or schema == value.schema
    held = zip(value.values, value.schema.fields, strict=True)
    return {
        "t": "struct" if same else "alien struct",
        "v": [shown(item, field.schema) for item, field in held],
    }


def _number(value: float) -> str:
    return repr(float(value)).replace("inf", "Infinity").replace("nan", "NaN")


def epoch_ms(value: datetime.date | datetime.time) -> int:
    """What `java.util.Date` holds."""
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MS
    if isinstance(value, datetime.time):
        return (datetime.datetime.combine(EPOCH, value, datetime.UTC) - EPOCH) // MS
    return (datetime.datetime.combine(value, datetime.time(), datetime.UTC) - EPOCH) // MS


def comparable(shown_value: object) -> object:
    """An envelope without what may differ: the spelling of numbers, the order of maps."""
    if isinstance(shown_value, list):
        return [comparable(item) for item in shown_value]
    if not isinstance(shown_value, dict):
        return shown_value
    if shown_value.get("t") in ("float", "double"):
        return {**shown_value, "v": repr(float(shown_value["v"]))}
    if shown_value.get("t") == "map":
        pairs = [comparable(pair) for pair in shown_value["v"]]
        return {"t": "map", "v": sorted(pairs, key=repr)}
    return {key: comparable(item) for key, item in shown_value.items() if key not in ("position",)}
