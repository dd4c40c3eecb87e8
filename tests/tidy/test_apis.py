"""One API = one word everywhere: message, handler, client test, reference page."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from headrace.broker.handlers import MODULES
from headrace.wire.registry import by_key

ROOT = Path(__file__).resolve().parents[2]


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[1])
def test_every_api_has_its_message_and_its_client_test(module: ModuleType) -> None:
    """A handler is named as its messages, and a test of the same name talks to a live broker."""
    handler = module.HANDLER
    api = by_key(handler.key)
    name = module.__name__.rsplit(".", 1)[1]
    assert name == api.module_name
    assert handler.request is api.request
    assert (handler.versions[0], handler.versions[1]) == (api.min_version, api.max_version)
    assert (ROOT / "tests" / "clients" / f"test_{name}.py").exists()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rsplit(".", 1)[1])
def test_every_handler_describes_itself(module: ModuleType) -> None:
    """The head of a handler names its versions and its behaviour; the reference is made of it."""
    text = module.__doc__ or ""
    handler = module.HANDLER
    assert text.startswith(handler.name)
    assert f"v{handler.versions[1]}" in text.partition("\n")[0]
    assert "Behaviour:" in text


@pytest.mark.parametrize("page", ["protocol-support.md", "configuration.md", "metrics.md"])
def test_reference_pages_are_fresh(page: str) -> None:
    """`make docs` has been run since the code changed."""
    generator = load_generator()
    assert (ROOT / "docs" / "reference" / page).read_text() == generator.PAGES[page]()
