"""`headrace connect` and a worker that runs: what is asked of it, and how that looks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import Broker
from tests.cli.conftest import Headrace
from tests.pipelines.connect.api.running import beside
from tests.pipelines.connect.recorded.asking import settled


@pytest.fixture
def url(headrace_broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A worker of the test's own, which the environment names."""
    with beside(headrace_broker.bootstrap_servers, tmp_path) as (address, _):
        monkeypatch.setenv("HEADRACE_CONNECT_URL", address)
        yield address


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The settings of a source."""
    (tmp_path / "in.txt").write_text("one\n")
    made = tmp_path / "lines.properties"
    made.write_text(
        f"name=lines\nconnector.class=FileStreamSource\nfile={tmp_path}/in.txt\ntopic=cli-lines\n"
    )
    return made


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_connector_from_its_creation_to_its_end(headrace: Headrace, url: str, file: Path) -> None:
    made = headrace("connect", "create", str(file), "--state", "paused")
    assert (made.code, rows(made.out)) == (0, [["NAME", "TYPE", "TASKS"], ["lines", "source", "0"]])
    listed = headrace("connect", "list")
    assert rows(listed.out)[1][:4] == ["lines", "source", "PAUSED", "none"]
    assert headrace("connect", "resume", "lines").code == 0
    settled(url, "lines", "RUNNING,RUNNING")
    told = rows(headrace("connect", "status", "lines").out)
    assert told[0] == ["PART", "STATE", "WORKER", "REASON"]
    assert [line[-3] for line in told[1:]] == ["RUNNING", "RUNNING"]
    assert json.loads(headrace("connect", "status", "lines", "-o", "json").out)["name"] == "lines"
    changed = headrace(
        "connect", "config", "lines", "--set", "batch.size=7", "--unset", "tasks.max"
    )
    assert "batch.size=7\n" in changed.out
    assert headrace("connect", "config", "lines").out == changed.out
    for words in (["--tasks"], ["--task", "0"], []):
        assert headrace("connect", "restart", "lines", *words).code == 0
    settled(url, "lines", "RUNNING,RUNNING")
    assert rows(headrace("connect", "pause", "lines").out)[1] == ["lines", "paused"]
    assert rows(headrace("connect", "delete", "lines", "--yes").out)[1] == ["lines", "deleted"]
    assert headrace("connect", "list", "-o", "json").out == "[]\n"


def test_offsets_are_shown_and_changed(headrace: Headrace, url: str, file: Path) -> None:
    headrace("connect", "create", str(file), "--state", "stopped")
    moved = {"offsets": [{"partition": {"filename": "x"}, "offset": {"position": 3}}]}
    told = headrace("connect", "offsets", "lines", "--alter", "-", stdin=json.dumps(moved).encode())
    assert told.code == 0, told.err
    assert '{"position": 3}' in told.out
    assert json.loads(headrace("connect", "offsets", "lines", "-o", "json").out) == moved
    assert rows(headrace("connect", "offsets", "lines", "--reset").out) == [["PARTITION", "OFFSET"]]
    headrace("connect", "resume", "lines")
    refused = headrace("connect", "offsets", "lines", "--reset")
    assert refused.code == 1
    assert "must be in the STOPPED state" in refused.err


def test_settings_are_checked_before_use(headrace: Headrace, url: str, file: Path) -> None:
    assert headrace("connect", "validate", str(file)).code == 0
    told = headrace("connect", "validate", str(file), "--set", "batch.size=0", "-o", "json")
    assert told.code == 1
    assert json.loads(told.out) == [
        {
            "key": "batch.size",
            "value": "0",
            "error": "Invalid value 0 for configuration batch.size: Value must be at least 1",
        }
    ]
    every = json.loads(headrace("connect", "plugins", "--all", "-o", "json").out)
    assert {"source", "sink", "converter", "transformation"} <= {each["type"] for each in every}


def test_what_cannot_be_says_why(headrace: Headrace, url: str, file: Path) -> None:
    headrace("connect", "create", str(file), "--state", "stopped")
    for words, part in (
        (["status", "line"], 'did you mean "lines"?'),
        (["create", str(file)], "Connector lines already exists"),
        (["create", "--set", "name=x"], "contains no connector type"),
        (["list", "--url", "http://127.0.0.1:1"], "no worker answers"),
    ):
        told = headrace("connect", *words)
        assert told.code == 1, told.out
        assert part in told.err
        assert len(told.err.splitlines()) == 1
    for wrong in (["create"], ["restart", "lines", "--tasks", "--task", "0"]):
        assert headrace("connect", *wrong).code == 2
