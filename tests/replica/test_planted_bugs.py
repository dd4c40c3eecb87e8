"""Every mistake in `planted` is found by a story: the stories are worth their name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.replica import test_high_watermark, test_isr, test_truncation
from tests.replica.planted import PLANTED

STORIES: list[Callable[[], None]] = [
    getattr(module, name)
    for module in (test_truncation, test_isr, test_high_watermark)
    for name in dir(module)
    if name.startswith("test_")
]


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the bug at least one story does not come out as told."""
    plant(monkeypatch)
    assert any(_fails(story) for story in STORIES), f"nobody notices {plant.__name__}"


def _fails(story: Callable[[], None]) -> bool:
    try:
        story()
    except Exception:
        return True
    return False
