"""A cluster for the tests of the source, and the rows that a query over it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing import Broker
    from tests.pipelines.source.topics import Topics


@pytest.fixture(scope="session")
def topics(headrace_broker: Broker) -> Topics:
    from tests.pipelines.source.topics import Topics

    return Topics(headrace_broker.bootstrap_servers)
