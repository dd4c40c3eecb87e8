"""A worker in this process for the connectors' tests, on a broker of the session."""

from __future__ import annotations

from tests.pipelines.connect.worker.conftest import bootstrap, start, topic

__all__ = ["bootstrap", "start", "topic"]
