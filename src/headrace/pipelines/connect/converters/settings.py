"""What every converter can be told: whether it is for keys, values or headers."""

from __future__ import annotations

from typing import Final

from headrace.pipelines.connect.config.definition import Definition, Key, Kind, one_of

KEY: Final = "key"
VALUE: Final = "value"
HEADER: Final = "header"

CONVERTER_TYPE: Final = Key(
    "converter.type",
    Kind.STRING,
    doc="What the converter is for: key, value or header.",
    importance="LOW",
    check=one_of(KEY, VALUE, HEADER),
)
BASIC: Final = Definition((CONVERTER_TYPE,))
