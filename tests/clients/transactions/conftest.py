"""Names of its own for each test."""

from __future__ import annotations

import uuid

import pytest


@pytest.fixture
def transactional_id() -> str:
    return f"x-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def group() -> str:
    return f"g-{uuid.uuid4().hex[:12]}"
