"""What a converter of ours and Kafka's own give for the same input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from headrace.pipelines.connect import faults
from headrace.pipelines.connect.converters.converter import Converter
from headrace.pipelines.connect.model.java_text import to_float32
from headrace.pipelines.connect.model.schema import Schema
from tests.pipelines.connect.converters.oracle import (
    Oracle,
    normal,
    normal_schema,
    shown_schema,
    shown_value,
)

MOST_DIGITS_OF_A_FLOAT = 9


def number_of(text: str) -> object:
    """A number that text says: Java before 19 prints some with digits too many."""
    exact = float(text)
    if exact == 0:
        return ("zero", math.copysign(1, exact))
    digits = sum(each.isdigit() for each in text.upper().partition("E")[0])
    return to_float32(exact) if digits <= MOST_DIGITS_OF_A_FLOAT else exact


def outcome(call: Any) -> dict[str, Any]:
    """What our converter gives, in the oracle's form."""
    try:
        return {"data": call()}
    except (faults.ConnectException, faults.ConfigException) as fault:
        return {"fault": faults.java_class(fault), "message": str(fault)}


def read_as(schema: Schema | None, value: object) -> dict[str, Any]:
    return {
        "schema": normal_schema(shown_schema(schema)),
        "value": normal(shown_value(schema, value)),
    }


def check_decoding(
    oracle: Oracle,
    java_class: str,
    converter: Converter,
    data: bytes | None,
    config: Mapping[str, str] | None = None,
) -> None:
    """The same schema and value, or the same fault."""
    theirs = oracle.decode(java_class, data, config)
    ours = outcome(lambda: read_as(*converter.decode("topic", data)))
    assert ours.get("fault") == theirs.get("fault"), (ours, theirs)
    if "fault" not in theirs:
        value = {"schema": normal_schema(theirs["schema"]), "value": normal(theirs["value"])}
        assert ours["data"] == value


def check_encoding(
    oracle: Oracle,
    java_class: str,
    converter: Converter,
    schema: Schema | None,
    value: object,
    config: Mapping[str, str] | None = None,
) -> None:
    """The same bytes, or the same fault."""
    theirs = oracle.encode(java_class, schema, value, config)
    ours = outcome(lambda: converter.encode("topic", schema, value))
    assert ours.get("fault") == theirs.get("fault"), (ours, theirs)
    assert ours.get("data") == theirs.get("data")
