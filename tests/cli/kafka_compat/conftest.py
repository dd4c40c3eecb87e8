"""One broker and one registry for the console tools, and how a test runs one of them."""

from __future__ import annotations

import io
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Protocol

import pytest

from headrace.cli import kafka_compat
from tests.cli.conftest import Outcome
from tests.cli.platform_process import headrace_up


class Tool(Protocol):
    def __call__(
        self, command: Callable[[list[str]], int], *words: str, stdin: str = ""
    ) -> Outcome: ...


@pytest.fixture(scope="package")
def services() -> Iterator[dict[str, str]]:
    with headrace_up("broker", "registry") as addresses:
        yield addresses


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tool:
    """`tool(avro, "--topic", …)`, in this process."""
    monkeypatch.delenv("SCHEMA_REGISTRY_URL", raising=False)

    def run(command: Callable[[list[str]], int], *words: str, stdin: str = "") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        monkeypatch.setattr(sys, "argv", ["tool", *words])
        code = kafka_compat.run(command)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def there(services: dict[str, str], topic: str) -> list[str]:
    """The flags that every command needs."""
    return [
        *("--bootstrap-server", services["broker"], "--topic", topic),
        *("--property", f"schema.registry.url={services['registry']}"),
    ]
