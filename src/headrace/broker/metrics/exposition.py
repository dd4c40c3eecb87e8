"""Prometheus' text format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf, isnan
from typing import Final

from headrace.broker.metrics.declaration import Metric, Reading, Sources, Summary

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def family(metric: Metric, sources: Sources) -> Iterator[str]:
    """One metric, line by line; nothing at all where there is nothing to tell."""
    readings = iter(metric.read(sources))
    first = next(readings, None)
    if first is None:
        return
    yield f"# HELP {metric.name} {escaped_help(metric.help)}\n"
    yield f"# TYPE {metric.name} {metric.type.value}\n"
    yield from _lines(metric, first)
    for reading in readings:
        yield from _lines(metric, reading)


def _lines(metric: Metric, reading: Reading) -> Iterator[str]:
    values, number = reading
    labels = ",".join(
        f'{name}="{escaped(value)}"'
        for name, value in zip(metric.labels, values, strict=True)
        if value
    )
    if not isinstance(number, Summary):
        yield f"{metric.name}{'{' + labels + '}' if labels else ''} {shown(number)}\n"
        return
    for quantile, value in number.quantiles.items():
        comma = "," if labels else ""
        yield f'{metric.name}{{{labels}{comma}quantile="{quantile}"}} {shown(value)}\n'
    braces = "{" + labels + "}" if labels else ""
    yield f"{metric.name}_sum{braces} {shown(number.sum)}\n"
    yield f"{metric.name}_count{braces} {number.count}\n"


def shown(number: int | float) -> str:
    """A number as Prometheus reads it."""
    if isinstance(number, int):
        return str(int(number))  # also for True and False
    if isnan(number):
        return "NaN"
    if isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    return repr(number)


def escaped(text: str) -> str:
    """The value of a label between its quotes."""
    if "\\" in text or '"' in text or "\n" in text:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text


def escaped_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
