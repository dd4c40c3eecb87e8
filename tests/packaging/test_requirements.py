"""The pinned requirements: one version of each package, whichever part is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "requirements"
PIN = re.compile(r"([a-z0-9_.-]+)==([^ ;\\]+)")


def pins(name: str) -> set[tuple[str, str]]:
    lines = (FOLDER / name).read_text().splitlines()
    return {(found[1], found[2]) for line in lines if (found := PIN.match(line))}


@pytest.mark.parametrize("name", ["main.txt", "spark.txt"])
def test_what_is_installed_for_tests_is_what_users_get(name: str) -> None:
    """Otherwise `make demo` after `make setup-dev` would install other versions."""
    assert pins(name) - pins("dev.txt") == set()
