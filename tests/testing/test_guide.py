"""The examples of docs/guides/testing.md work as they stand."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "testing.md"
EXAMPLES = [
    code
    for code in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    if "run_my_application" not in code
]


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_of_the_guide(code: str, request: pytest.FixtureRequest) -> None:
    """What a reader copies runs, and its assertions hold; fixtures are those of this run."""
    names: dict[str, object] = {}
    exec(compile(code, str(GUIDE), "exec"), names)
    for name, value in names.items():
        if name.startswith("test_") and callable(value):
            value(*map(request.getfixturevalue, inspect.signature(value).parameters))
    assert names
