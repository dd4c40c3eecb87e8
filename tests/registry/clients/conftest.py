"""A registry of its own process for the clients, on a broker of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.testing import Broker
from tests.rest.service import Service


@pytest.fixture(scope="module")
def registry_url() -> Iterator[str]:
    """The address of a running registry."""
    with Broker() as broker:
        store = {"kafkastore.bootstrap.servers": f"PLAINTEXT://{broker.bootstrap_servers}"}
        with Service("headrace.registry", store) as registry:
            yield registry.url
