"""docs/protocol/messages.md shows what is really declared."""

from __future__ import annotations

import inspect
from pathlib import Path

from headrace.wire.messages.list_offsets import ListOffsetsRequest

PAGE = Path(__file__).parents[2] / "docs" / "protocol" / "messages.md"


def test_the_example_is_the_declaration() -> None:
    """The declaration printed on the page is that of the module, docstring aside."""
    shown = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    declared = inspect.getsource(ListOffsetsRequest)
    code = [line for line in shown.splitlines() if line]
    assert len(code) == 6
    assert [line for line in declared.splitlines() if line in code] == code
