"""One broker for all tests of the registry, and one registry for those that share it.

Tests that share a registry use subjects of their own (`subject`) and put global settings back.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from headrace.testing import Broker
    from tests.registry.running import RunningRegistry

pytest.register_assert_rewrite("tests.registry.running")


@pytest.fixture(scope="session")
def registry_broker() -> Iterator[Broker]:
    """A broker whose groups form without a delay."""
    from headrace.testing import Broker

    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker


@pytest.fixture(scope="session")
def registry(registry_broker: Broker) -> Iterator[RunningRegistry]:
    """A registry that is the primary."""
    from tests.registry.running import RunningRegistry

    with RunningRegistry(registry_broker.bootstrap_servers) as running:
        running.await_primary()
        yield running


@pytest.fixture
def subject() -> str:
    """A subject that no other test uses."""
    return f"s-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def names() -> dict[str, str]:
    """A topic and a group of its own for a registry: `RunningRegistry(…, **names)`."""
    name = uuid.uuid4().hex[:12]
    return {
        "kafkastore__topic": f"schemas-{name}",
        "kafkastore__group__id": f"registry-{name}",
        "dek__registry__topic": f"keys-{name}",
    }
