"""What a local file system has on the disk when it says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.pipelines.lake.filesystems.local import LocalFilesystem


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Folders whose names have been written to the disk, each with what it held then."""
    found: dict[str, list[str]] = {}
    real = os.fsync

    def fsync(handle: int) -> None:
        path = os.readlink(f"/proc/self/fd/{handle}")
        if os.path.isdir(path):
            found[path] = sorted(os.listdir(path))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return found


def test_a_file_that_is_published(tmp_path: Path, synced: dict[str, list[str]]) -> None:
    """With every folder that it is the first file of."""
    files = LocalFilesystem(tmp_path)
    out = files.stage("topics/+tmp/staged")
    out.write(b"data")
    files.seal("topics/+tmp/staged", out)
    assert files.publish("topics/+tmp/staged", "topics/t/year=2026/file")
    assert synced[str(tmp_path)] == ["topics"]
    assert "t" in synced[str(tmp_path / "topics")]
    assert synced[str(tmp_path / "topics/t")] == ["year=2026"]
    assert synced[str(tmp_path / "topics/t/year=2026")] == ["file"]


def test_a_file_that_is_replaced(tmp_path: Path, synced: dict[str, list[str]]) -> None:
    """What a job has written down must be there before what follows from it."""
    files = LocalFilesystem(tmp_path)
    files.replace("state/job/commit.json", b"{}")
    assert synced[str(tmp_path)] == ["state"]
    assert synced[str(tmp_path / "state")] == ["job"]
    assert synced[str(tmp_path / "state/job")] == ["commit.json"]


def test_a_file_that_is_claimed(tmp_path: Path, synced: dict[str, list[str]]) -> None:
    files = LocalFilesystem(tmp_path)
    assert files.claim("logs/t/0.json", b"{}")
    assert synced[str(tmp_path)] == ["logs"]
    assert synced[str(tmp_path / "logs")] == ["t"]
    assert "0.json" in synced[str(tmp_path / "logs/t")]
