"""One broker and one registry for all tests of `headrace schema`."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.cli.conftest import Headrace, Outcome, headrace
from tests.cli.platform_process import headrace_up

__all__ = ["headrace"]


class SchemaCommand(Protocol):
    def __call__(self, *words: str, stdin: bytes = b"") -> Outcome: ...


@pytest.fixture(scope="package")
def services() -> Iterator[dict[str, str]]:
    with headrace_up("broker", "registry") as addresses:
        yield addresses


@pytest.fixture
def schema(
    headrace: Headrace, services: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> SchemaCommand:
    """`schema("list")`, with the registry and the broker of the environment."""
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", services["registry"])
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", services["broker"])
    return lambda *words, stdin=b"": headrace("schema", *words, stdin=stdin)


@pytest.fixture
def subject() -> str:
    """A subject of its own, with characters that a path must not take as they are."""
    return f"s {uuid.uuid4().hex[:8]}/ü-value"


class Files:
    """Schemas in files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, content: object, suffix: str = ".avsc") -> str:
        path = self._folder / f"{uuid.uuid4().hex}{suffix}"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def record(self, *fields: dict[str, Any], name: str = "Order") -> str:
        return self.write({"type": "record", "name": name, "fields": list(fields)})


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)
