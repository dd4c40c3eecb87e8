"""The page of use cases: every common use is on it, with an example that a test runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guides" / "start" / "use-cases.md"
EXAMPLE = re.compile(r"\[`([\w.]+)`\]\(\.\./\.\./(examples/[\w/]+\.py)\)")


def first_column(heading: str) -> list[str]:
    """What the tables under a heading list."""
    section = GUIDE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    cells = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]
    return [cell for cell in cells if cell not in ("use", "feed", "sink", "architecture", "---")]


def imported(path: Path) -> set[str]:
    """The modules that a test imports, by their whole names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found


@pytest.mark.spec("slides:O37")
def test_every_use_has_an_example_that_a_test_runs() -> None:
    """Nine of them; each row names a program, and a test of `tests/apps` imports it."""
    assert first_column("Uses") == [
        "stream processing",
        "microservices with a database",
        "web activity",
        "metrics",
        "log aggregation",
        "real-time analytics",
        "ingest into Spark and Hadoop",
        "CQRS and replay",
        "commit log of in-memory computing",
    ]
    rows = [line for line in GUIDE.read_text().splitlines() if line.startswith("| ")]
    named = {match for row in rows for match in EXAMPLE.findall(row)}
    tested: set[str] = set()
    for path in (ROOT / "tests" / "apps").rglob("test_*.py"):
        tested |= imported(path)
    for name, place in named:
        assert (ROOT / place).is_file(), place
        assert place == f"examples/{name.replace('.', '/')}.py"
        assert f"examples.{name}" in tested, f"no test runs {name}"


def test_feeds_sinks_and_architectures_are_listed() -> None:
    """Four feeds, six sinks, three architectures; the stories themselves are told elsewhere."""
    feeds, sinks = first_column("Feeds and sinks")[:4], first_column("Feeds and sinks")[4:]
    assert feeds == ["log aggregation", "KPIs", "batch imports", "audit trail"]
    assert sinks == [
        *("analytics", "databases", "machine learning"),
        *("dashboards", "search", "business intelligence"),
    ]
    assert first_column("Architectures") == [
        *("traditional big data", "event hub", "asynchronous microservices"),
    ]
