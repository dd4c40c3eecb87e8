"""`headrace connect`: what there is, and what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Headrace


def test_the_connectors_are_listed(headrace: Headrace) -> None:
    rows = json.loads(headrace("connect", "plugins", "-o", "json").out)
    found = {row["class"]: row["type"] for row in rows}
    assert found["org.apache.kafka.connect.file.FileStreamSinkConnector"] == "sink"
    assert found["io.confluent.connect.jdbc.JdbcSourceConnector"] == "source"


@pytest.mark.parametrize("words", [["plugins"], ["run", "FileStreamSource"]])
def test_without_the_extra_it_says_what_to_install(tmp_path: Path, words: list[str]) -> None:
    """As after `pip install headrace`, where there is no pyarrow."""
    (tmp_path / "pyarrow.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'pyarrow'\", name='pyarrow')"
    )
    done = subprocess.run(
        [sys.executable, "-m", "headrace", "connect", *words],
        env={"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert 'needs the package pyarrow; pip install "headrace[connect]"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_settings_that_have_a_place_of_their_own(headrace: Headrace) -> None:
    outcome = headrace("connect", "run", "FileStreamSource", "--set", "name=x")
    assert outcome.code == 2
    assert "--name" in outcome.err
