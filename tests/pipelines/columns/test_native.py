"""Kernels are compiled where they can be kept and where they cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from numba import types

from headrace.pipelines.columns.native import compiled

SOURCE = "def doubled(number):\n    return 2 * number\n"


def test_a_kernel_without_a_place_to_be_kept_is_compiled_all_the_same() -> None:
    """No folder may be writable for a Spark worker: it then compiles for itself, and works."""
    names: dict[str, Any] = {}
    exec(SOURCE, names)
    assert compiled(types.int64(types.int64))(names["doubled"])(21) == 42


def test_a_kernel_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled code is on the disk afterwards, for the next process."""
    module = tmp_path / "doubling.py"
    module.write_text(SOURCE)
    names: dict[str, Any] = {"__file__": str(module), "__name__": "doubling"}
    exec(compile(SOURCE, str(module), "exec"), names)
    assert compiled(types.int64(types.int64))(names["doubled"])(21) == 42
    assert list(tmp_path.glob("__pycache__/*.nbc"))
