"""The named folders of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.pipelines.run.folder import RunFolder, RunRefused, RunReport, list_runs


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-a", "a" * 101, "ä", "a b"])
def test_a_name_is_a_plain_folder_name(tmp_path: Path, name: str) -> None:
    """Nothing outside of the state folder can be named."""
    with pytest.raises(RunRefused, match="is not a name for a run"):
        RunFolder(tmp_path, name)


def test_a_run_holds_its_name(tmp_path: Path) -> None:
    """A second run of the same name is refused; another name is free; the lock goes with it."""
    first, second = RunFolder(tmp_path, "shop"), RunFolder(tmp_path, "shop")
    with first.locked():
        first.write_report(RunReport("shop", pid=4711))
        assert second.running
        with (
            pytest.raises(RunRefused, match=r"running already \(process 4711\)"),
            second.locked(),
        ):
            pass
        with RunFolder(tmp_path, "other").locked():
            pass
    assert not second.running
    with second.locked():
        pass


def test_stop_asks_and_waits(tmp_path: Path) -> None:
    """The run finds the request, and whoever asked returns when the lock is free."""
    folder = RunFolder(tmp_path, "shop")
    lock = folder.locked()
    lock.__enter__()
    assert not folder.stop_requested
    slept = 0

    def sleep(seconds: float) -> None:
        nonlocal slept
        slept += 1
        assert folder.stop_requested
        if slept == 3:
            lock.__exit__(None, None, None)

    RunFolder(tmp_path, "shop").request_stop(10, sleep)
    assert slept == 3
    assert not folder.stop_requested


def test_a_run_that_does_not_stop_is_told(tmp_path: Path) -> None:
    """With the process to look at."""
    folder = RunFolder(tmp_path, "shop")
    with folder.locked():
        folder.write_report(RunReport("shop", pid=4711))
        with pytest.raises(RunRefused, match="not stopped within 1 s; look at its process 4711"):
            folder.request_stop(1, lambda _: None)


def test_an_old_request_does_not_stop_a_new_run(tmp_path: Path) -> None:
    """What was asked of the last run is forgotten when the next one begins."""
    folder = RunFolder(tmp_path, "shop")
    with folder.locked():
        (folder.path / "stop").touch()
        assert folder.stop_requested
    with folder.locked():
        assert not folder.stop_requested


def test_only_running_runs_can_be_stopped(tmp_path: Path) -> None:
    """A stale report with a process id stops nobody."""
    with pytest.raises(RunRefused, match='there is no run "shop"'):
        RunFolder(tmp_path, "shop").request_stop(1)
    folder = RunFolder(tmp_path, "shop")
    with folder.locked():
        folder.write_report(RunReport("shop", pid=1))
    with pytest.raises(RunRefused, match='"shop" is not running'):
        folder.request_stop(1)


def test_reset_removes_checkpoints_and_nothing_else(tmp_path: Path) -> None:
    """Records of the embedded broker stay: the pipeline reads them anew."""
    folder = RunFolder(tmp_path, "shop")
    for path in (folder.checkpoints / "orders", folder.checkpoints / "fraud", folder.broker_data):
        path.mkdir(parents=True)
    with folder.locked():
        folder.write_report(
            RunReport("shop", state="stopped", queries=[{"query": "orders", "lag": 3}])
        )
    assert folder.reset() == ["fraud", "orders"]
    assert not folder.checkpoints.exists()
    assert folder.broker_data.exists()
    assert folder.read_report().queries == []
    assert folder.reset() == []


def test_reset_is_refused_while_it_runs(tmp_path: Path) -> None:
    """A checkpoint under a running query is never pulled away."""
    folder = RunFolder(tmp_path, "shop")
    folder.checkpoints.mkdir(parents=True)
    with folder.locked(), pytest.raises(RunRefused, match="is running already"):
        RunFolder(tmp_path, "shop").reset()
    assert folder.checkpoints.exists()
    with pytest.raises(RunRefused, match='there is no run "none"'):
        RunFolder(tmp_path, "none").reset()


def test_reset_leaves_checkpoints_elsewhere(tmp_path: Path) -> None:
    """What the user has put on a shared file system is the user's to remove."""
    folder = RunFolder(tmp_path, "shop")
    with folder.locked():
        folder.write_report(RunReport("shop", checkpoints="s3a://bucket/shop"))
    with pytest.raises(RunRefused, match="are in s3a://bucket/shop; remove them there"):
        folder.reset()


def test_the_list_believes_locks_not_reports(tmp_path: Path) -> None:
    """A run that could not say how it ended was killed."""
    for name, state in (("a", "running"), ("b", "running"), ("c", "ended"), ("d", "failed")):
        folder = RunFolder(tmp_path, name)
        with folder.locked():
            folder.write_report(RunReport(name, state=state, pid=1))
    (tmp_path / "no-run").mkdir()
    (tmp_path / "file").touch()
    with RunFolder(tmp_path, "a").locked():
        states = {report.name: report.state for report in list_runs(tmp_path)}
    assert states == {"a": "running", "b": "killed", "c": "ended", "d": "failed"}
    assert list_runs(tmp_path / "none") == []


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"unknown": 1}', "\xff"])
def test_a_report_that_cannot_be_read_is_empty(tmp_path: Path, text: str) -> None:
    """Any bytes in the file leave the list usable."""
    folder = RunFolder(tmp_path, "shop")
    with folder.locked():
        (folder.path / "run.json").write_bytes(text.encode("latin-1"))
    assert folder.read_report() == RunReport("shop", state="stopped")
    assert [report.name for report in list_runs(tmp_path)] == ["shop"]


def test_a_report_comes_back_as_written(tmp_path: Path) -> None:
    """And is plain JSON for other programs."""
    folder = RunFolder(tmp_path, "shop")
    report = RunReport("shop", "shop:orders", "running", 7, queries=[{"query": "q", "lag": None}])
    with folder.locked():
        folder.write_report(report)
    assert folder.read_report() == report
    assert json.loads((folder.path / "run.json").read_text())["pipeline"] == "shop:orders"
