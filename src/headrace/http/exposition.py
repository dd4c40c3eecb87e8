"""Prometheus' text format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Reading = tuple[tuple[str, ...], int | float]
"""The values of the labels, in their order, and the number."""


def family(
    name: str, kind: str, labels: tuple[str, ...], readings: Iterable[Reading]
) -> Iterator[str]:
    """One metric, line by line."""
    yield f"# TYPE {name} {kind}\n"
    for values, number in readings:
        told = ",".join(
            f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=True)
        )
        yield f"{name}{'{' + told + '}' if told else ''} {number}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
