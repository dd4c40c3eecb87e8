"""Spark's Kafka connector and Avro functions, which PySpark's wheel does not carry, from Maven."""

from __future__ import annotations

from pathlib import Path

from benchmarks.kafka.jars import fetched

VERSION = "4.2.0"

_POM = Path(__file__).resolve().with_name("pom.xml")


def connector_jars() -> str:
    """The jars as `spark.jars` takes them; downloads them when they are missing."""
    folder = fetched(f"spark-connector-{VERSION}", _POM, f"Spark's Kafka connector {VERSION}")
    return ",".join(str(jar) for jar in sorted(folder.glob("*.jar")))
