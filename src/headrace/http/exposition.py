"""Prometheus' text format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isinf, isnan
from typing import Final, Protocol

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Summary(Protocol):
    """What a summary has to say of one combination of labels."""

    @property
    def quantiles(self) -> Mapping[str, float]: ...
    @property
    def count(self) -> int: ...
    @property
    def sum(self) -> float: ...


Reading = tuple[tuple[str, ...], int | float | Summary]
"""The values of the labels, in their order, and the number. An empty label value is left out."""


def family(
    name: str, kind: str, help_text: str, labels: tuple[str, ...], readings: Iterable[Reading]
) -> Iterator[str]:
    """One metric, line by line; nothing at all where there is nothing to tell."""
    is_first = True
    for values, number in readings:
        if is_first:
            is_first = False
            escaped_help = help_text.replace("\\", "\\\\").replace("\n", "\\n")
            yield f"# HELP {name} {escaped_help}\n# TYPE {name} {kind}\n"
        told = ",".join(
            f'{label}="{_escaped(value)}"'
            for label, value in zip(labels, values, strict=True)
            if value
        )
        braces = "{" + told + "}" if told else ""
        if isinstance(number, int | float):
            yield f"{name}{braces} {shown(number)}\n"
            continue
        for quantile, value in number.quantiles.items():
            comma = "," if told else ""
            yield f'{name}{{{told}{comma}quantile="{quantile}"}} {shown(value)}\n'
        yield f"{name}_sum{braces} {shown(number.sum)}\n"
        yield f"{name}_count{braces} {number.count}\n"


def shown(number: int | float) -> str:
    """A number as Prometheus reads it."""
    if isinstance(number, int):
        return str(int(number))  # also for True and False
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return repr(number)


def _escaped(text: str) -> str:
    """The value of a label between its quotes."""
    if "\\" in text or '"' in text or "\n" in text:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text
