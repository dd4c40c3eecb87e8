"""The topics of a run, the names in them, and how they are made.

The probe is written by producers that keep one record in flight per partition, so that the time
between two acknowledgements tells how long the partition was not available. Input and output are
those of `exactly_once`.
"""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.chaos.exactly_once import values, worker

PROBE = "probe"
INPUT, OUTPUT = values.TOPICS
PARTITIONS = values.PARTITIONS
TOPICS = (PROBE, INPUT, OUTPUT)
PROBE_KEYS = tuple(f"{PROBE}/{partition}" for partition in range(PARTITIONS))
KEYS = (*PROBE_KEYS, *values.KEYS)
COPIERS = worker.GROUP
TRANSACTIONAL_ID = "worker-0"
REPLICATION_FACTOR = 3
CREATE_TIMEOUT_SECONDS = 60


def create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = [
        NewTopic(topic, PARTITIONS, REPLICATION_FACTOR, config={"min.insync.replicas": "2"})
        for topic in TOPICS
    ]
    for future in admin.create_topics(topics).values():
        future.result(CREATE_TIMEOUT_SECONDS)
