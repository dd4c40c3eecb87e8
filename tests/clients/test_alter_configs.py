"""AlterConfigs against a live broker: what is not given falls back."""

from __future__ import annotations

import pytest

from headrace.errors import Error
from tests.clients.configs import replaced, value_of
from tests.clients.contract import eventually
from tests.clients.raw import Connection

DEFAULT_RETENTION_MS = "604800000"


def becomes(connection: Connection, topic: str, key: str, value: str | None) -> None:
    eventually(lambda: value_of(connection, topic, key) == value, f"{key}={value}")


@pytest.mark.parametrize("version", range(3))
def test_alter_configs_replaces_all(connection: Connection, topic: str, version: int) -> None:
    """What the request leaves out goes back to its default."""
    result = replaced(connection, topic, {"segment.bytes": "2000000"}, version=version)
    assert (result.error_code, result.resource_name) == (Error.NONE, topic)
    becomes(connection, topic, "segment.bytes", "2000000")
    becomes(connection, topic, "retention.ms", DEFAULT_RETENTION_MS)
