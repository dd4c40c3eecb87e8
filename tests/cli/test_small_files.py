"""Files that a command line names: how they are read, and how they are refused."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from headrace.cli.failures import Failure, WrongUsage
from headrace.cli.small_files import read_properties, read_text


def test_a_file_or_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash stands for standard input."""
    file = tmp_path / "plan.json"
    file.write_text("{}\n")
    assert read_text(str(file)) == "{}\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"piped")))
    assert read_text("-") == "piped"


def test_a_file_that_is_not_fit_is_named(tmp_path: Path) -> None:
    """Not there, not text, too large: the kind of failure and the name are the caller's."""
    file = tmp_path / "plan.json"
    with pytest.raises(WrongUsage, match=r"plan.json cannot be read \(No such file or directory\)"):
        read_text(str(file))
    file.write_bytes(b"\xff")
    with pytest.raises(Failure, match=r"^--plan cannot be read \(it is not UTF-8\)"):
        read_text(str(file), "--plan", failure=Failure)
    file.write_text("12345")
    with pytest.raises(WrongUsage, match="is larger than 4 bytes"):
        read_text(str(file), max_bytes=4)


def test_properties_have_the_syntax_of_java(tmp_path: Path) -> None:
    """Either separator, lines that go on, escapes."""
    file = tmp_path / "client.properties"
    file.write_text("# of a client\na: 1\nb = 2, \\\n    3\nc=x\\ty\n")
    assert read_properties(str(file)) == {"a": "1", "b": "2, 3", "c": "x\ty"}
