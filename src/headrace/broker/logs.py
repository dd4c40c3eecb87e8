"""Log lines of the process: Kafka's logger names, one line per event, text or JSON.

The core never logs; only the shell does, through the loggers named here.
"""

from __future__ import annotations

import json
import logging
import sys

SERVER = logging.getLogger("kafka.server.KafkaServer")
CONFIG = logging.getLogger("kafka.server.KafkaConfig")
LOG_MANAGER = logging.getLogger("kafka.log.LogManager")
SOCKET_SERVER = logging.getLogger("kafka.network.SocketServer")
REQUESTS = logging.getLogger("kafka.request.logger")
COORDINATOR = logging.getLogger("kafka.coordinator.CoordinatorRuntime")
CONTROLLER = logging.getLogger("kafka.controller.KafkaController")
PARTITION = logging.getLogger("kafka.cluster.Partition")
REPLICA_FETCHER = logging.getLogger("kafka.server.ReplicaFetcherThread")


class TextFormatter(logging.Formatter):
    """Kafka's own layout: `[2026-01-31 12:00:00,000] INFO message (logger)`."""

    def __init__(self) -> None:
        super().__init__("[%(asctime)s] %(levelname)s %(message)s (%(name)s)")


class JsonFormatter(logging.Formatter):
    """One JSON object per line, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        event = {
            "timestamp": self.formatTime(record),
            "level": record.levelname,
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
    root = logging.getLogger("kafka")
    root.handlers[:] = [handler]
    root.setLevel(level)
    root.propagate = False
