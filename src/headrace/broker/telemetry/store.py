"""What clients have pushed, as long as it is fresh, and never more than there is room for.

Clients choose their names, their labels and how many numbers they send, so everything has a limit:
clients, time series of one client, and of all. What goes beyond is counted and dropped. Synchronous
state: time is an argument.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

from headrace.broker.telemetry.otlp import Point

CLIENT_LABELS: Final = (
    "client_id",
    "client_instance_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
)
MAX_CLIENTS: Final = 1_000
MAX_SERIES_PER_CLIENT: Final = 1_000
MAX_SERIES: Final = 50_000
_MAX_LABELS: Final = 16
_MAX_TEXT: Final = 256
_FRESH_INTERVALS: Final = 3
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")

Labels = tuple[tuple[str, str], ...]


class ClientInstance:
    """One client: what it was told last, and what it pushed."""

    __slots__ = (
        "_series",
        "interval_ms",
        "is_terminated",
        "labels",
        "last_error",
        "last_get_ms",
        "last_push_ms",
        "subscription_id",
    )

    def __init__(self) -> None:
        self.labels: tuple[str, ...] = ("",) * len(CLIENT_LABELS)
        self.subscription_id = 0
        self.interval_ms = 0
        self.last_get_ms: int | None = None
        self.last_push_ms: int | None = None
        self.last_error = 0
        self.is_terminated = False
        self._series: dict[tuple[str, Labels], tuple[float, bool]] = {}

    @property
    def series_count(self) -> int:
        return len(self._series)

    def values_of(self, name: str) -> Iterator[tuple[Labels, float]]:
        for (known, labels), (value, _) in self._series.items():
            if known == name:
                yield labels, value

    def names(self) -> Iterator[tuple[str, bool]]:
        for (name, _), (_, is_counter) in self._series.items():
            yield name, is_counter

    def put(self, point: Point, room: int) -> bool:
        """Remember a number; False if there is no room for another time series."""
        key = (_name(point.name), _labels(point.labels))
        known = self._series.get(key)
        if known is None and (room <= 0 or len(self._series) >= MAX_SERIES_PER_CLIENT):
            return False
        value = point.value
        if point.is_delta and known is not None:
            value += known[0]
        self._series[key] = (value, point.is_counter)
        return True


class TelemetryStore:
    """All clients of one broker, the one that was silent longest first."""

    def __init__(self) -> None:
        self.exported = 0
        self.failed = 0
        self.throttled = 0
        self.unknown_subscriptions = 0
        self.dropped_series = 0
        self._clients: OrderedDict[UUID, ClientInstance] = OrderedDict()
        self._series_count = 0

    @property
    def instance_count(self) -> int:
        return len(self._clients)

    def clients(self) -> list[ClientInstance]:
        return list(self._clients.values())

    def names(self) -> dict[str, bool]:
        """Every metric that a client has pushed, and whether it only grows."""
        return {name: grows for client in self._clients.values() for name, grows in client.names()}

    def client(self, instance_id: UUID, now_ms: int) -> ClientInstance:
        """The client of this id, which is new if we have not heard of it, or not for long."""
        self._forget_silent(now_ms)
        known = self._clients.get(instance_id)
        if known is None:
            if len(self._clients) >= MAX_CLIENTS:
                self._forget(next(iter(self._clients)))
            known = self._clients[instance_id] = ClientInstance()
        self._clients.move_to_end(instance_id)
        return known

    def report(self, client: ClientInstance, points: Iterable[Point]) -> None:
        """Take in what a client has pushed."""
        before = client.series_count
        for point in points:
            room = MAX_SERIES - self._series_count - (client.series_count - before)
            if not client.put(point, room):
                self.dropped_series += 1
        self._series_count += client.series_count - before
        self.exported += 1

    def _forget_silent(self, now_ms: int) -> None:
        while self._clients:
            instance_id, oldest = next(iter(self._clients.items()))
            heard_ms = max(oldest.last_get_ms or 0, oldest.last_push_ms or 0)
            if now_ms - heard_ms <= _FRESH_INTERVALS * oldest.interval_ms:
                return
            self._forget(instance_id)

    def _forget(self, instance_id: UUID) -> None:
        self._series_count -= self._clients.pop(instance_id).series_count


def _name(name: str) -> str:
    text = _NOT_IN_NAMES.sub("_", name[:_MAX_TEXT])
    return text if text and not text[0].isdigit() else f"_{text}"


def _labels(labels: Labels) -> Labels:
    """Labels as Prometheus takes them; those that say who the client is are ours to give."""
    found = {_name(key): value[:_MAX_TEXT] for key, value in labels[:_MAX_LABELS]}
    return tuple((key, value) for key, value in found.items() if key not in CLIENT_LABELS)
