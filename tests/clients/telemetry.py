"""Subscriptions of client metrics, and reports as clients push them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from headrace.errors import Error
from headrace.types import ZERO_UUID
from headrace.wire.messages import get_telemetry_subscriptions, push_telemetry
from tests.clients.configs import Op, Resource, changed
from tests.clients.raw import Connection

CUMULATIVE, DELTA = 2, 1


@contextmanager
def subscription(connection: Connection, name: str, **settings: object) -> Iterator[None]:
    """A subscription for the time of a test: `metrics="*", interval_ms=100`."""
    wanted = {key.replace("_", "."): str(value) for key, value in settings.items()}
    set_all(connection, name, wanted)
    try:
        yield
    finally:
        operations = [(key, Op.DELETE, None) for key in wanted]
        changed(connection, name, *operations, kind=Resource.CLIENT_METRICS)


def set_all(connection: Connection, name: str, settings: Mapping[str, str]) -> None:
    operations = [(key, Op.SET, value) for key, value in settings.items()]
    outcome = changed(connection, name, *operations, kind=Resource.CLIENT_METRICS)
    assert outcome.error_code == Error.NONE, outcome.error_message


def ask_subscription(connection: Connection, instance_id: UUID = ZERO_UUID) -> Any:
    request = get_telemetry_subscriptions.GetTelemetrySubscriptionsRequest(
        client_instance_id=instance_id
    )
    return connection.ask(request, 0)


def push(connection: Connection, told: Any, report: bytes, **options: Any) -> Error:
    """Push a report under what GetTelemetrySubscriptions has told."""
    arguments = {
        "client_instance_id": told.client_instance_id,
        "subscription_id": told.subscription_id,
        "terminating": False,
        "compression_type": 0,
        "metrics": report,
        **options,
    }
    answer = connection.ask(push_telemetry.PushTelemetryRequest(**arguments), 0)
    return Error(answer.error_code)


# -- protobuf --------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _message(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _point(value: float, labels: Mapping[str, str]) -> bytes:
    pairs = b"".join(
        _message(7, _message(1, key.encode()) + _message(2, _message(1, text.encode())))
        for key, text in labels.items()
    )
    is_int = isinstance(value, int)
    number = b"\x31" + struct.pack("<q", value) if is_int else b"\x21" + struct.pack("<d", value)
    return b"\x19" + struct.pack("<Q", 1) + number + pairs


def gauge(name: str, value: float, **labels: str) -> bytes:
    """One gauge, as a field of ScopeMetrics."""
    body = _message(1, name.encode()) + _message(2, b"about it") + _message(3, b"1")
    return _message(2, body + _message(5, _message(1, _point(value, labels))))


def counter(name: str, value: float, temporality: int = CUMULATIVE, **labels: str) -> bytes:
    """One sum that only grows, as a field of ScopeMetrics."""
    points = _message(1, _point(value, labels))
    body = _message(7, points + bytes([0x10, temporality, 0x18, 1]))
    return _message(2, _message(1, name.encode()) + body)


def report(*metrics: bytes) -> bytes:
    """MetricsData with one resource and one scope."""
    resource = _message(1, _message(1, _message(1, b"host") + _message(2, _message(1, b"h"))))
    scope = _message(2, _message(1, _message(1, b"scope")) + b"".join(metrics))
    return _message(1, resource + scope)
