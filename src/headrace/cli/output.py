"""One answer, three faces: columns for a person, JSON and YAML for a program.

A command hands over plain data and says how it looks as text. The module refuses to know what the
data means.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from headrace.cli import yaml


class Output(StrEnum):
    """What `--output` takes."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Row = Mapping[str, object]


def emit(data: object, output: Output, as_text: Callable[[], str]) -> None:
    """Print `data`; `as_text` is asked only when a table is wanted."""
    if output is Output.JSON:
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    elif output is Output.YAML:
        text = yaml.dump(data)
    else:
        text = as_text()
    sys.stdout.write(text)


def emit_rows(rows: Sequence[Row], output: Output, columns: Sequence[str]) -> None:
    """Print a list of flat mappings; a table shows these columns only."""
    emit(rows, output, lambda: table(rows, columns))


def table(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Aligned columns under capitals; numbers stand to the right, nothing is cut off."""
    cells = [[cell(row.get(name)) for name in columns] for row in rows]
    heads = [name.replace("_", "-").upper() for name in columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = [
        bool(rows) and all(isinstance(row.get(name), int | float | None) for row in rows)
        for name in columns
    ]
    lines = []
    for line in (heads, *cells):
        padded = (
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, right, strict=True)
        )
        lines.append("  ".join(padded).rstrip() + "\n")
    return "".join(lines)


def cell(value: object) -> str:
    """One value as a person reads it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)
