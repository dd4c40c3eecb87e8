"""Alarms and dashboard: every metric that they name is one that a broker exports."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from headrace.broker.metrics.catalogue import METRICS
from headrace.broker.metrics.declaration import SUMMARY

MONITORING = Path(__file__).resolve().parents[3] / "deploy" / "monitoring"
NAME = re.compile(r"\b((?:kafka|headrace|process|python)_[a-z0-9_]+)(\{[^}]*\})?")
LABEL = re.compile(r'([a-zA-Z_]+)(?:=~|!~|!=|=)"')
GROUPING = re.compile(r"\b(?:by|on) \(([^)]*)\)")
FROM_PROMETHEUS = {"instance", "job", "quantile"}


def exported() -> dict[str, set[str]]:
    """Names as they are exported, and the labels of each."""
    names: dict[str, set[str]] = {}
    for metric in METRICS:
        suffixes = ("", "_sum", "_count") if metric.type is SUMMARY else ("",)
        for suffix in suffixes:
            names[metric.name + suffix] = {*metric.labels, *FROM_PROMETHEUS}
    return names


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "grafana-dashboard.json").read_text())[
        "panels"
    ]
    return [panel for panel in found if panel["type"] != "row"]


EXPRESSIONS = [
    *((f"alert {rule['alert']}", rule["expr"]) for rule in rules()),
    *(
        (f"panel {panel['title']}", target["expr"])
        for panel in panels()
        for target in panel["targets"]
    ),
]


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS)
def test_what_is_named_is_exported(where: str, expression: str) -> None:
    """Names, the labels that are filtered by, and those that are grouped by."""
    known = exported()
    names = [match[1] for match in NAME.finditer(expression)]
    assert names or "up{" in expression, f"{where} looks at nothing"
    for match in NAME.finditer(expression):
        assert match[1] in known, f"{where}: {match[1]} is not exported"
        for label in LABEL.findall(match[2] or ""):
            assert label in known[match[1]], f"{where}: {match[1]} has no label {label}"
    labels = set().union(*(known[name] for name in names))
    for grouping in GROUPING.findall(expression):
        for label in grouping.split(","):
            assert label.strip() in labels, f"{where}: nothing has the label {label}"


@pytest.mark.spec("book2:R-01", "book2:R-03", "book2:R-04", "admin:MO-02", "admin:MO-12")
def test_the_alarms_of_the_documents_are_there() -> None:
    """Each has a severity, says what is the matter, and what to do, logs and metrics first."""
    found = {rule["alert"]: rule for rule in rules()}
    assert found.keys() >= {
        "UnderReplicatedPartitions",
        "OfflinePartitions",
        "NoController",
        "SeveralControllers",
        "FailedProduceRequests",
        "ConsumerLagGrows",
    }
    for name, rule in found.items():
        assert rule["labels"]["severity"] in ("critical", "warning", "info"), name
        assert rule["annotations"].keys() == {"summary", "remedy"}, name
    assert "server.log" in found["BrokerDown"]["annotations"]["remedy"]


def test_panels_do_not_overlap() -> None:
    """Everything has its place on a grid of 24 columns."""
    taken: dict[tuple[int, int], str] = {}
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} lies on {taken[x, y]}"
                taken[x, y] = panel["title"]
