"""Settings of what an operator looks at: the metrics endpoint and the log files.

`kafka.logs.dir` and `log4j.configuration` are system properties of Kafka's start scripts; here they
are settings like all others. The rest has no equivalent in Kafka, where agents and log4j do it.
"""

from __future__ import annotations

from typing import Final

from headrace.cluster.config_types import (
    INT,
    LONG,
    LOW,
    STRING,
    ConfigKey,
    at_least,
    matching,
    one_of,
)

MONITORING_KEYS: Final = (
    ConfigKey(
        "kafka.logs.dir",
        STRING,
        None,
        "Folder of the log files (`server.log`, `controller.log` …). Without it, and without "
        "`LOG_DIR` in the environment, nothing is written to files.",
    ),
    ConfigKey(
        "kafka.logs.max.bytes",
        LONG,
        "104857600",
        "A log file that grows beyond this is set aside and a new one begins.",
        at_least(1024),
        LOW,
    ),
    ConfigKey(
        "kafka.logs.max.files",
        INT,
        "24",
        "How many files that were set aside are kept of each log.",
        at_least(1),
        LOW,
    ),
    ConfigKey(
        "kafka.logs.rotation",
        STRING,
        "hourly",
        "When a log file is set aside: every hour, as Kafka does, or by its size alone.",
        one_of("hourly", "size"),
        LOW,
    ),
    ConfigKey(
        "log4j.configuration",
        STRING,
        None,
        "A file in the form of log4j.properties; the levels of its loggers are taken from it, "
        "nothing else.",
        importance=LOW,
    ),
    ConfigKey(
        "metrics.listener",
        STRING,
        "",
        "Where `/metrics` is served for Prometheus; port 0 takes a free one. Empty is off.",
        matching(r"|(\[[^\]]+\]|[^:\s]*):[0-9]{1,5}", "host:port, or nothing"),
    ),
)
