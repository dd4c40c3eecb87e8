"""The worked examples in docs/formats, as bytes, so that tests can recompute them."""

from __future__ import annotations

import re
from pathlib import Path

_FORMATS = Path(__file__).parents[2] / "docs" / "formats"


def hex_example(page: str) -> bytes:
    """The bytes of a page's ```hex block; what follows a semicolon is commentary."""
    block = _block(page, "hex")
    return bytes.fromhex("".join(line.partition(";")[0] for line in block.splitlines()))


def text_example(page: str) -> bytes:
    """The bytes of a page's ```text block, including the last newline."""
    return _block(page, "text").encode()


def _block(page: str, language: str) -> str:
    found = re.findall(rf"```{language}\n(.*?)```", (_FORMATS / page).read_text(), re.DOTALL)
    assert len(found) == 1, f"{page} has {len(found)} blocks of {language}"
    return str(found[0])
