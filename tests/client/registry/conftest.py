"""A registry for the tests of this folder."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.client.registry import RegistryClient
    from headrace.testing import Broker


@pytest.fixture(scope="session")
def registry_url(headrace_broker: Broker) -> Iterator[str]:
    from tests.rest.service import Service

    properties = {
        "kafkastore.bootstrap.servers": headrace_broker.bootstrap_servers,
        "kafkastore.topic.replication.factor": 1,
        "host.name": "127.0.0.1",
    }
    with Service("headrace.registry", properties) as service:
        yield service.url


@pytest.fixture
def client(registry_url: str) -> Iterator[RegistryClient]:
    from headrace.client.registry import RegistryClient, RegistrySettings

    opened = RegistryClient(RegistrySettings.at(registry_url))
    yield opened
    opened.close()


@pytest.fixture
def subject() -> str:
    """A subject that nobody has, with signs that a path must encode."""
    return f"s/{uuid.uuid4().hex[:12]} ü"
