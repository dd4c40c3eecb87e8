"""Style as tests: what a reviewer would otherwise have to say again and again."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 70
FORBIDDEN_NAMES = {"utils", "helpers", "common", "misc"}


def module_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_modules_are_small_and_say_why_they_exist(path: Path) -> None:
    """A module has a docstring, at most 600 lines, and a name that says what it is."""
    text = path.read_text()
    tree = ast.parse(text)
    assert path.stem not in FORBIDDEN_NAMES
    assert text.count("\n") <= MAX_MODULE_LINES
    assert ast.get_docstring(tree), f"{module_name(path)} has no docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MAX_FUNCTION_LINES, f"{node.name} has {length} lines"


def tracked_texts() -> Iterator[tuple[str, str]]:
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listing.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".js", ".go", ".java", ""}:
            yield name, path.read_text(errors="replace")


def test_no_unfinished_business() -> None:
    """Work that is left is an issue, not a remark in the code."""
    marker = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
    left = [name for name, text in tracked_texts() if marker.search(text)]
    assert left == []


def test_documents_have_one_title() -> None:
    """Every page begins with its only first-level heading."""
    for name, text in tracked_texts():
        if name.endswith(".md"):
            outside = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
            titles = re.findall(r"^# .+", outside, flags=re.MULTILINE)
            assert len(titles) == 1, f"{name} has {len(titles)} titles"
            assert text.startswith("# "), f"{name} does not begin with its title"


def test_links_between_documents_lead_somewhere() -> None:
    """A relative link in a page names a file that exists."""
    for name, text in tracked_texts():
        if name.endswith(".md"):
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
                assert (ROOT / name).parent.joinpath(target).exists(), f"{name} → {target}"


def test_every_guide_is_listed() -> None:
    """In the index of the guides, and in the navigation of the website."""
    guides = ROOT / "docs" / "guides"
    index = (guides / "README.md").read_text()
    navigation = (ROOT / "docs" / "mkdocs.yml").read_text()
    for page in guides.glob("*/*.md"):
        name = page.relative_to(guides).as_posix()
        assert f"]({name})" in index, f"docs/guides/README.md does not list {name}"
        assert f"guides/{name}\n" in navigation, f"docs/mkdocs.yml does not list {name}"
