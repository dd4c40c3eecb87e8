"""Apache Kafka as the other side of the comparison: its jars, its settings, its start."""
