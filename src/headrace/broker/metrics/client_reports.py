"""What clients have pushed, as families of Prometheus' text format.

The names come from the clients, so nothing is declared: every family is made from what is there.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.broker.metrics.declaration import COUNTER, GAUGE, Metric, Reading, Sources, family
from headrace.broker.telemetry.store import CLIENT_LABELS, TelemetryStore


def client_families(sources: Sources) -> Iterator[str]:
    """All metrics of all clients, a metric at a time."""
    telemetry = sources.telemetry
    for name, is_counter in sorted(telemetry.names().items()):
        readings = list(_readings(telemetry, name))
        names = dict.fromkeys(label for labels, _ in readings for label in labels)
        metric = Metric(
            name,
            COUNTER if is_counter else GAUGE,
            "Pushed by clients.",
            lambda _, readings=readings, names=names: _in_order(readings, list(names)),  # type: ignore[misc]
            tuple(names),
        )
        yield from family(metric, sources)


def _readings(telemetry: TelemetryStore, name: str) -> Iterator[tuple[dict[str, str], float]]:
    for client in telemetry.clients():
        about = dict(zip(CLIENT_LABELS, client.labels, strict=True))
        for labels, value in client.values_of(name):
            yield {**about, **dict(labels)}, value


def _in_order(readings: list[tuple[dict[str, str], float]], names: list[str]) -> Iterator[Reading]:
    for labels, value in readings:
        yield tuple(labels.get(name, "") for name in names), value
