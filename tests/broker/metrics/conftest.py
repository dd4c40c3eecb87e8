"""One broker with metrics for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing import Broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker(metrics=True) as running:
        yield running
