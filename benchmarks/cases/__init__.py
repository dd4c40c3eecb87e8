"""What is measured. One module per scenario; each declares its metrics and targets at its head."""

from __future__ import annotations

from benchmarks.cases import (
    cluster,
    compaction,
    connect,
    failover,
    fairness,
    fsync,
    groups,
    latency,
    metrics,
    quota,
    recovery,
    services,
    spark,
    start,
    throughput,
    tools,
    topics,
    transactions,
)

SCENARIOS = (
    start.SCENARIO,
    throughput.SCENARIO,
    latency.SCENARIO,
    metrics.SCENARIO,
    groups.SCENARIO,
    transactions.SCENARIO,
    topics.SCENARIO,
    recovery.SCENARIO,
    compaction.SCENARIO,
    fsync.SCENARIO,
    spark.SCENARIO,
    services.SCENARIO,
    connect.SCENARIO,
    cluster.SCENARIO,
    failover.SCENARIO,
    quota.SCENARIO,
    fairness.SCENARIO,
    tools.SCENARIO,
)
