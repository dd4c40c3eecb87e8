"""What a metric is: a name, what it means, and how to read it from a running broker.

Names are those of Kafka's MBeans as the JMX exporter's usual rules for Kafka translate them: in
lower case, `PerSec` meters as counters with `_total`, histograms as summaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from headrace.http import exposition

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.broker.cluster_role import ClusterRole
    from headrace.broker.metrics.load import LoadMeter
    from headrace.broker.net.dispatch import Dispatcher
    from headrace.broker.net.listener import Listener
    from headrace.broker.storage.cleaner import LogCleaner
    from headrace.broker.telemetry.store import TelemetryStore


class MetricType(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"


COUNTER = MetricType.COUNTER
GAUGE = MetricType.GAUGE
SUMMARY = MetricType.SUMMARY


@dataclass(frozen=True, slots=True)
class Summary:
    """What a summary has to say of one combination of labels."""

    quantiles: Mapping[str, float]
    count: int
    sum: float


Value = int | float | Summary
Reading = tuple[tuple[str, ...], Value]
"""The values of the labels, in their order, and the number. An empty label value is left out."""


@dataclass(slots=True)
class Sources:
    """What there is to read from. `state` is Kafka's number for where the broker is in its life."""

    broker: Broker
    listeners: list[Listener]
    dispatcher: Dispatcher
    cleaner: LogCleaner
    role: ClusterRole | None
    telemetry: TelemetryStore
    load: LoadMeter
    started_ms: int
    state: int = 3
    remote_ends: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """High watermarks of partitions that have no replica here, as far as they are known."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One family of samples. `mbean` is what Kafka calls it, empty where Kafka has none."""

    name: str
    type: MetricType
    help: str
    read: Callable[[Sources], Iterable[Reading]]
    labels: tuple[str, ...] = ()
    mbean: str = ""


def family(metric: Metric, sources: Sources) -> Iterator[str]:
    """A metric in Prometheus' text format, line by line."""
    readings = metric.read(sources)
    return exposition.family(metric.name, metric.type.value, metric.help, metric.labels, readings)


def one(read: Callable[[Sources], int | float]) -> Callable[[Sources], Iterable[Reading]]:
    """The reader of a metric without labels."""
    return lambda sources: [((), read(sources))]
