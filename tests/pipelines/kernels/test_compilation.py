"""Kernels are compiled where they can be kept and where they cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

from headrace.pipelines.kernels import compilation
from headrace.pipelines.kernels.compilation import compiled

SOURCE = "def doubled(number):\n    return 2 * number\n"


@pytest.fixture(autouse=True)
def users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's cache folder; what was decided of folders is forgotten."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    compilation._folder.cache_clear()
    yield tmp_path / "cache" / "headrace"
    compilation._folder.cache_clear()


def doubled(folder: Path) -> Callable[[int], int]:
    """The function of a module in that folder."""
    folder.mkdir(exist_ok=True)
    module = folder / "doubling.py"
    module.write_text(SOURCE)
    names: dict[str, Any] = {"__file__": str(module), "__name__": "doubling"}
    exec(compile(SOURCE, str(module), "exec"), names)
    function: Callable[[int], int] = names["doubled"]
    return function


def kept(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.nbc"))


def test_a_kernel_is_kept(tmp_path: Path) -> None:
    """The compiled code is on the disk afterwards, beside the module, for the next process."""
    kernel: Any = compiled(doubled(tmp_path))
    assert kernel(21) == 42
    assert kept(tmp_path / "__pycache__")
    again: Any = compiled(doubled(tmp_path))
    assert again(21) == 42
    assert sum(again.stats.cache_hits.values()) == 1
    assert compilation._config.CACHE_DIR == ""


def test_a_change_elsewhere_is_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel is made of several files: none of them may change unnoticed."""
    assert compiled(doubled(tmp_path))(21) == 42
    monkeypatch.setattr(compilation, "_sources", lambda: "others")
    compilation._folder.cache_clear()
    kernel: Any = compiled(doubled(tmp_path))
    assert kernel(21) == 42
    assert sum(kernel.stats.cache_hits.values()) == 0


def test_a_folder_that_cannot_be_written(tmp_path: Path, users_folder: Path) -> None:
    """Of an installed package that is read-only, kernels are in the user's cache folder."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__pycache__").touch()
    assert compiled(doubled(package))(21) == 42
    assert kept(users_folder)


def test_no_folder_that_can_be_written(tmp_path: Path, users_folder: Path) -> None:
    """No folder may be writable for a Spark worker: it then compiles for itself, and works."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__pycache__").touch()
    users_folder.parent.touch()
    assert compiled(doubled(package))(21) == 42
    assert kept(tmp_path) == []


def test_a_function_without_a_file() -> None:
    """There is nothing to tell whether it has changed, so it is not kept."""
    names: dict[str, Any] = {}
    exec(SOURCE, names)
    assert compiled(names["doubled"])(21) == 42


def test_the_folder_that_the_user_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NUMBA_CACHE_DIR comes before all others."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "named"))
    assert compiled(doubled(tmp_path / "package"))(21) == 42
    assert kept(tmp_path / "named")
    assert not kept(tmp_path / "package")


def test_what_a_kernel_may_be_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest covers the workshop, the kernels of both rooms and their tables."""
    seen: list[str] = []
    read_bytes = Path.read_bytes
    rooms = compilation._ROOMS

    def noted(path: Path) -> bytes:
        seen.append(path.relative_to(rooms).as_posix())
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    compilation._sources.__wrapped__()
    assert {
        "kernels/compilation.py",
        "kernels/memory.py",
        "kernels/varints.py",
        "columns/kernels.py",
        "serdes/kernels.py",
        "serdes/layout.py",
        "serdes/avro/opcodes.py",
        "serdes/avro/decode_kernel.py",
        "serdes/avro/encode_kernel.py",
        "serdes/protobuf/wire.py",
        "serdes/protobuf/field_kernel.py",
    } <= set(seen)
