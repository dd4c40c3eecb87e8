"""A strict reader of Prometheus' text format, and the way to a broker's metrics."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_HELP = re.compile(rf"# HELP ({_NAME}) ((?:[^\\\n]|\\\\|\\n)+)")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (counter|gauge|summary)")
_SAMPLE = re.compile(rf"({_NAME})(?:\{{(.*)\}})? (NaN|[+-]Inf|-?[0-9.]+(?:e[+-]?[0-9]+)?)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"(,|$)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}

Labels = frozenset[tuple[str, str]]


@dataclass
class Scraped:
    """What one scrape said."""

    types: dict[str, str] = field(default_factory=dict)
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)

    def value(self, name: str, **labels: str) -> float:
        """The sample with exactly these labels."""
        return self.samples[name, frozenset(labels.items())]

    def total(self, name: str, **labels: str) -> float:
        """The sum over all samples that have these labels among theirs."""
        return sum(
            value
            for (each, found), value in self.samples.items()
            if each == name and found >= frozenset(labels.items())
        )

    def has(self, name: str) -> bool:
        return any(each == name for each, _ in self.samples)


def parse(text: str) -> Scraped:
    """Every line must be what Prometheus takes, and nothing may be said twice."""
    assert text.endswith("\n")
    scraped = Scraped()
    helped = ""
    family = ""
    for line in text.splitlines():
        if told := _HELP.fullmatch(line):
            helped = told[1]
            continue
        if told := _TYPE.fullmatch(line):
            family = told[1]
            assert family == helped, f"{family} has no help"
            assert family not in scraped.types, f"{family} is not in one piece"
            scraped.types[family] = told[2]
            continue
        found = _SAMPLE.fullmatch(line)
        assert found, f"not a line of the format: {line!r}"
        suffixes = ("", "_sum", "_count") if scraped.types[family] == "summary" else ("",)
        assert found[1].removeprefix(family) in suffixes, f"{line} stands below {family}"
        key = (found[1], frozenset(_labels(found[2] or "")))
        assert key not in scraped.samples, f"{line} was said before"
        scraped.samples[key] = float(found[3])
    return scraped


def _labels(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        label = _LABEL.match(text, position)
        assert label, f"no labels: {text!r}"
        value = re.sub(r"\\[\\\"n]", lambda escape: _ESCAPES[escape[0]], label[2])
        yield label[1], value
        position = label.end()


def scrape(url: str) -> Scraped:
    with urllib.request.urlopen(url, timeout=10) as response:
        assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return parse(response.read().decode())
