"""The reference page of all metrics, written from their declarations.

`docs/reference/metrics.md` is this text; a test keeps it fresh.
"""

from __future__ import annotations

from typing import Final

from headrace.broker.metrics.catalogue import SECTIONS
from headrace.broker.metrics.declaration import Metric

_HEAD: Final = """\
# Metrics

Generated from the declarations in `src/headrace/broker/metrics` (`make docs`). Every broker serves
them at `http://<metrics.listener>/metrics` in Prometheus' text format; see the guide
[Monitoring](../guides/operate/monitoring.md).

The names are those of Kafka's MBeans as the JMX exporter's usual rules for Kafka translate them: in
lower case, meters (`…PerSec`) as counters with `_total`, histograms as summaries with `quantile`,
`_sum` and `_count`. Dashboards and alert rules for Kafka work as they are. An MBean that ends with
`name=` or `topic=` is a family of MBeans; its keys are the labels here. A dash in the last column
means that Kafka has no such metric.
"""

_TABLE: Final = """
| name | type | labels | meaning | Kafka's MBean |
|---|---|---|---|---|
"""

_CLIENTS: Final = """
## Metrics of clients

What clients push (KIP-714) is shown under its own name with dots as underscores, for instance
`org_apache_kafka_producer_record_send_total`, with the labels `client_id`, `client_instance_id`,
`client_software_name`, `client_software_version`, `client_source_address`, and those of the data
point. Which metrics clients push is decided by the subscriptions of `kafka-client-metrics`; without
one they push nothing. Sums that only grow are counters, everything else is a gauge.
"""


def metrics_page() -> str:
    """The whole page."""
    parts = [_HEAD]
    for title, metrics in SECTIONS.items():
        parts += [f"\n## {title}\n", _TABLE, *map(_row, metrics)]
    return "".join([*parts, _CLIENTS])


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "—"
    mbean = f"`{metric.mbean}`" if metric.mbean else "—"
    cells = (f"`{metric.name}`", metric.type.value, labels, metric.help, mbean)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
