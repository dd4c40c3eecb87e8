"""Connect's own settings, for the tests that compare ours with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.connect.real import Real


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    """A JVM with Connect's settings."""
    source = Path(__file__).with_name("Settings.java")
    with Real(source, tmp_path_factory.mktemp("real") / "log") as program:
        yield program
