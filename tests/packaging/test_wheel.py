"""What would be published: the wheel has all that the package reads, and works when installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as `python -m build` makes it: from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(folder.glob("headrace-*.tar.gz"))) == 1
    (found,) = folder.glob("headrace-*.whl")
    return found


def test_everything_that_is_not_python_is_in_it(wheel: Path) -> None:
    """Java sources, log settings, type markers: whatever lies in the package's folders."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wanted = {name.removeprefix("src/") for name in listed.stdout.splitlines()}
    assert wanted - names == set()
    assert not any(name.startswith(("tests/", "examples/", "benchmarks/")) for name in names)


def test_the_description_can_be_read_alone(wheel: Path) -> None:
    """A package index shows it without the other files: every link is absolute."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    description = metadata.get_payload()
    assert isinstance(description, str)
    assert description.startswith("# Headrace")
    assert "](docs/" not in description
    assert "](https://" in description
    assert "<!--" not in description
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= urls.keys()
    assert metadata["License-Expression"] == "Apache-2.0"


def test_it_works_when_installed(wheel: Path, tmp_path: Path) -> None:
    """From a folder of its own, away from the sources, over the packages that are here."""
    unpacked = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    code = (
        "import headrace, headrace.testing; print(headrace.__file__);"
        "from headrace.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--version"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(unpacked), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, version = done.stdout.splitlines()
    assert Path(where).is_relative_to(unpacked)
    assert version.startswith("headrace 0.1")
