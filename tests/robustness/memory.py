"""How much memory a process has, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path


def rss_mb(pid: int) -> float:
    """What it has now."""
    return _field_mb(pid, "VmRSS:")


def peak_rss_mb(pid: int) -> float:
    """The most that it ever had."""
    return _field_mb(pid, "VmHWM:")


def _field_mb(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no {name}")
