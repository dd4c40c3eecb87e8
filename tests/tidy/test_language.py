"""What a user reads is plain English in Kafka's vocabulary: help, errors, log lines, pages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from headrace.cli.app import app
from tests.tidy.language import find_idioms

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src" / "headrace").rglob("*.py"))


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module that is not a docstring, with its line; `{}` for what is put in.

    Messages are raised, returned, yielded, logged and kept in tables: all strings are read, because
    an idiom is never the name of anything.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    passed_over: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                passed_over.add(id(statement.value))
        if isinstance(node, ast.JoinedStr):
            passed_over.update(id(each) for each in ast.walk(node) if each is not node)
    for node in ast.walk(tree):
        if id(node) in passed_over:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (each.value if isinstance(each, ast.Constant) else "{}" for each in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_no_idiom_in_what_the_code_says() -> None:
    """Errors, log lines, remedies, descriptions of settings and metrics."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {idiom}"
        for path in SOURCES
        for line, text in texts_of(path)
        for idiom in find_idioms(text)
    ]
    assert not found, "\n".join(found)


PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs" / "guides").rglob("*.md")),
    *sorted((ROOT / "docs" / "reference").rglob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_idiom_on_a_page(page: Path) -> None:
    """README, changelog, guides and reference."""
    assert [str(idiom) for idiom in find_idioms(page.read_text())] == []


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """A command and all below it, each with the words that lead to it."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from commands(child, f"{path} {name}")


COMMANDS = list(commands(typer.main.get_command(app), "headrace"))


def test_no_idiom_in_any_help() -> None:
    """Docstrings of commands are help, too."""
    texts = [
        (path, text)
        for path, command in COMMANDS
        for text in (
            command.help,
            command.epilog,
            *(getattr(option, "help", None) for option in command.params),
        )
        if text
    ]
    found = [f"{path}: {idiom}" for path, text in texts for idiom in find_idioms(text)]
    assert len(texts) > 300
    assert not found, "\n".join(found)


def test_every_option_has_a_help() -> None:
    """Its name alone is not enough."""
    missing = [
        f"{path} {option.opts[0]}"
        for path, command in COMMANDS
        for option in command.params
        if option.param_type_name == "option" and not getattr(option, "help", None)
    ]
    assert missing == []


@pytest.mark.parametrize(
    "text",
    [
        "--zookeeper is of the past",
        "Whoever asks is told to wait",
        "Who must have a record to count it.",
        "And exit.",
        "5 looks, 0 warnings",
        "Limits and eyes",
        "Spellings of old",
        '"--x" is no flag of this command',
        "the log is loaded anew",
        "nobody can read it",
        "the module refuses to know a client",
    ],
)
def test_idioms_are_found_with_their_replacement(text: str) -> None:
    """The list finds what it was written for."""
    found = list(find_idioms(text))
    assert found
    assert all(each.instead for each in found)


@pytest.mark.parametrize(
    "text",
    [
        "there is no topic",
        "the group is no longer registered",
        "Print the version and exit.",
        "the following options",
        "told apart",
        "marshalled",
    ],
)
def test_plain_english_is_let_through(text: str) -> None:
    """No word is banned for its letters."""
    assert list(find_idioms(text)) == []
