"""The oracle that all tests of converters share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipelines.connect.converters.oracle import Oracle


@pytest.fixture(scope="session")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    """Kafka Connect's converters."""
    made = Oracle(tmp_path_factory.mktemp("oracle") / "stderr")
    yield made
    made.close()
