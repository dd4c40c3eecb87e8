"""The Java client of Apache Kafka 4.3.1."""

from __future__ import annotations

from pathlib import Path

from tests.clients.drivers.program import ForeignClient
from tests.kafka.apache_kafka import java_command

SOURCE = Path(__file__).resolve().parents[1] / "java" / "JavaClient.java"


def java_client(bootstrap: str, classpath: str, scratch: Path) -> ForeignClient:
    """Compiled in memory by the JVM that runs it: a second of start, nothing to keep."""
    command = java_command(classpath, SOURCE)
    return ForeignClient(bootstrap, command, stderr_path=scratch / "java.err")
