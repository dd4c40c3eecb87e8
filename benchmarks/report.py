"""A finished run as JSON: every sample, so that other statistics can be made of it later."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.table import OURS, THEIRS, Line

RESULTS = Path(__file__).resolve().parent / "results"


def default_path() -> Path:
    return RESULTS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.json"


def write(
    path: Path, run: Mapping[str, object], lines: Sequence[Line], failures: Mapping[str, str]
) -> None:
    document = {
        "run": {**run, "finished": datetime.now(UTC).isoformat(timespec="seconds")},
        "machine": _machine(),
        "lines": [_line(line) for line in lines],
        "failures": dict(failures),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise BenchmarkError(f"cannot write results to {path}: {error.strerror}") from error


def _line(line: Line) -> dict[str, object]:
    target = line.metric.target
    return {
        "case": line.case,
        "measured": line.label,
        "metric": line.metric.key,
        "unit": line.metric.unit,
        OURS: line.ours,
        THEIRS: line.theirs,
        "ratio": asdict(line.ratio) if line.ratio else None,
        "target": str(target) if target else None,
        "verdict": line.verdict or None,
    }


def _machine() -> dict[str, object]:
    return {
        "cpu": _field(Path("/proc/cpuinfo"), "model name"),
        "cores": os.cpu_count(),
        "memory": _field(Path("/proc/meminfo"), "MemTotal"),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _field(path: Path, name: str) -> str | None:
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return None
