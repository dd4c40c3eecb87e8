"""Spark's own Kafka connector beside ours: the jars, and the program in which both run."""
