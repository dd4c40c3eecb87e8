"""How tests run the command: in this process, with what it prints and its exit code at hand."""

from __future__ import annotations

import io
import sys
import uuid
from collections.abc import Callable
from typing import NamedTuple, Protocol

import pytest

from headrace.cli import main
from headrace.testing import Broker


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Headrace(Protocol):
    def __call__(self, *words: str, stdin: bytes = b"") -> Outcome: ...


@pytest.fixture(autouse=True)
def no_profiles(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever runs the tests may have profiles; they are none of the tests' business."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-profiles"))
    monkeypatch.delenv("HEADRACE_PROFILE", raising=False)


@pytest.fixture
def headrace(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Headrace:
    """`headrace("topic", "list")`, without a broker unless `-b` names one."""
    monkeypatch.delenv("HEADRACE_BOOTSTRAP_SERVERS", raising=False)

    def run(*words: str, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(list(words))
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def live(headrace: Headrace, headrace_broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Headrace:
    """The same, against a running broker that the environment names."""
    monkeypatch.setenv("HEADRACE_BOOTSTRAP_SERVERS", headrace_broker.bootstrap_servers)
    return headrace


@pytest.fixture
def topic(live: Headrace) -> str:
    """A topic of its own with one partition."""
    name = f"topic-{uuid.uuid4().hex[:12]}"
    assert live("topic", "create", name, "--partitions", "1").code == 0
    return name


@pytest.fixture
def new_topic(live: Headrace) -> Callable[[int], str]:
    """A topic of its own with as many partitions as asked for."""

    def create(partitions: int) -> str:
        name = f"topic-{uuid.uuid4().hex[:12]}"
        assert live("topic", "create", name, "--partitions", str(partitions)).code == 0
        return name

    return create
