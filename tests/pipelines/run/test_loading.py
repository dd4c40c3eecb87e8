"""How a pipeline is named on the command line and found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.pipelines.run.loading import (
    NoSuchPipeline,
    check_target,
    default_name,
    load_pipeline,
)

SHOP = '''
"""A pipeline."""
import json
RATE = 7
def orders(spark):
    return spark
def refunds(spark):
    return None
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with modules of odd names; the path and the loaded modules are as before after."""
    (tmp_path / "hr_shop.py").write_text(SHOP)
    (tmp_path / "hr_broken.py").write_text("import hr_is_not_there\n")
    (tmp_path / "hr_wrong.py").write_text("1 / 0\n")
    (tmp_path / "hr_package").mkdir()
    (tmp_path / "hr_package" / "__init__.py").write_text("")
    (tmp_path / "hr_package" / "inner.py").write_text(SHOP)
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setenv("PYTHONPATH", "/before")
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("hr_") or name == "inner":
            del sys.modules[name]


@pytest.mark.parametrize(
    "target", ["hr_shop:orders", "hr_package.inner:orders", "hr_shop.py:orders"]
)
def test_modules_and_files_are_found_from_the_folder(folder: Path, target: str) -> None:
    """The function is the one of the module, and workers will look in the same folder."""
    check_target(target, folder)
    pipeline = load_pipeline(target, folder)
    assert pipeline.function("spark") == "spark"
    assert pipeline.module.__name__ in sys.modules
    assert os.environ["PYTHONPATH"] == f"{folder}{os.pathsep}/before"


def test_a_file_in_another_folder_is_found_by_its_path(folder: Path) -> None:
    """Its own folder goes on the path, so that its neighbours can be imported."""
    pipeline = load_pipeline("hr_package/inner.py:refunds", folder)
    assert pipeline.module.__name__ == "inner"
    assert os.environ["PYTHONPATH"].split(os.pathsep)[0] == str(folder / "hr_package")


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("hr_shop", "write MODULE:FUNCTION or path/to/file.py:FUNCTION"),
        (":orders", "names no pipeline"),
        ("hr_shop:", "names no pipeline"),
        ("hr_shop:two words", "names no pipeline"),
        ("hr_nowhere:orders", "there is no module hr_nowhere in "),
        ("hr_package.none:orders", "there is no module hr_package.none in "),
        ("hr_package/inner:orders", "for the file write hr_package/inner.py:FUNCTION"),
        ("hr_nowhere.py:orders", "there is no file .*/hr_nowhere.py"),
        ("hr_shop:order", "hr_shop has no function order; it has orders$"),
        ("hr_shop:x", "it has orders, refunds$"),
        ("hr_package:x", "it has no functions"),
        ("hr_shop:RATE", "is a int, not a function"),
        ("hr_broken:orders", "cannot be imported: ModuleNotFoundError: .*hr_is_not_there"),
        ("hr_wrong:orders", "cannot be imported: ZeroDivisionError"),
        ("hr_wrong.py:orders", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_what_cannot_be_found_is_told(folder: Path, target: str, complaint: str) -> None:
    """The text says what is missing and what is there."""
    with pytest.raises(NoSuchPipeline, match=complaint):
        load_pipeline(target, folder)


def test_a_file_does_not_take_the_place_of_a_module(folder: Path) -> None:
    """`json.py` would break whoever imports json afterwards."""
    (folder / "json.py").write_text(SHOP)
    with pytest.raises(NoSuchPipeline, match="has the name of the module json, which is in use"):
        load_pipeline("json.py:orders", folder)


def test_runs_are_named_after_module_and_function() -> None:
    """The same pipeline has the same name, whichever way it is written."""
    assert default_name("shop.orders:main") == "orders.main"
    assert default_name("shop/orders.py:main") == "orders.main"
