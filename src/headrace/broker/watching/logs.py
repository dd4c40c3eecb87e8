"""Log lines of the process: Kafka's logger names, one line per event, text or JSON.

The core never logs; only the shell does, through the loggers named here. Where lines go to besides
standard error is in `log_files`.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Final

TRACE: Final = 5
TOP: Final = "kafka"
TOPS: Final = (TOP, "state.change.logger")

SERVER = logging.getLogger("kafka.server.KafkaServer")
CONFIG = logging.getLogger("kafka.server.KafkaConfig")
TELEMETRY = logging.getLogger("kafka.server.ClientMetricsManager")
LOG_MANAGER = logging.getLogger("kafka.log.LogManager")
LOG_CLEANER = logging.getLogger("kafka.log.LogCleaner")
SOCKET_SERVER = logging.getLogger("kafka.network.SocketServer")
REQUESTS = logging.getLogger("kafka.request.logger")
COORDINATOR = logging.getLogger("kafka.coordinator.CoordinatorRuntime")
CONTROLLER = logging.getLogger("kafka.controller.KafkaController")
STATE_CHANGE = logging.getLogger("state.change.logger")
AUTHORIZER = logging.getLogger("kafka.authorizer.logger")
PARTITION = logging.getLogger("kafka.cluster.Partition")
REPLICA_FETCHER = logging.getLogger("kafka.server.ReplicaFetcherThread")

_NAMES: Final = {TRACE: "TRACE", logging.WARNING: "WARN", logging.CRITICAL: "FATAL"}


def level_name(level: int) -> str:
    """A level as Kafka calls it."""
    return _NAMES.get(level) or logging.getLevelName(level)


class TextFormatter(logging.Formatter):
    """Kafka's own layout: `[2026-01-31 12:00:00,000] INFO message (logger)`."""

    def __init__(self) -> None:
        super().__init__("[%(asctime)s] %(level)s %(message)s (%(name)s)")

    def format(self, record: logging.LogRecord) -> str:
        record.level = level_name(record.levelno)
        return super().format(record)


class JsonFormatter(logging.Formatter):
    """One JSON object per line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "timestamp": self.formatTime(record),
            "level": level_name(record.levelno),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return json.dumps(event)


def configure(level: str = "INFO", layout: str = "text") -> None:
    """Send the loggers above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if layout == "json" else TextFormatter())
    for name in TOPS:
        top = logging.getLogger(name)
        top.handlers[:] = [handler]
        top.setLevel(level)
        top.propagate = False
    # One line for each request is for those who ask for it.
    REQUESTS.setLevel(logging.WARNING)
