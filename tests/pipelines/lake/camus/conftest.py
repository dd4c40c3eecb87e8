"""Topics on the broker of the session."""

from __future__ import annotations

from tests.pipelines.source.conftest import topics

__all__ = ["topics"]
