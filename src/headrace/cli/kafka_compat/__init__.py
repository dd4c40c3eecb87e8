"""The names that the tools of Kafka, Confluent and the lake have, with their flags and output.

Every name, with and without `.sh`, is a script that calls `main`, which finds the tool by the name
that it was called by. All have what ours have: one line for an error, and no stack trace unless
`--debug`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Final

Command = Callable[[list[str]], int]

TOOLS: Final = {
    "connect-distributed": "connect_distributed:run",
    "camus-run": "lake_tools:camus",
    "connect-standalone": "connect_standalone:run",
    "flume-ng": "lake_tools:flume",
    "gobblin-mapreduce": "lake_tools:gobblin",
    "kafka-avro-console-consumer": "console_consumer:avro",
    "kafka-avro-console-producer": "console_producer:avro",
    "kafka-broker-api-versions": "broker_api_versions:run",
    "kafka-client-metrics": "client_metrics:run",
    "kafka-cluster": "cluster:run",
    "kafka-configs": "configs:run",
    "kafka-console-consumer": "console_consumer:run",
    "kafka-console-producer": "console_producer:run",
    "kafka-console-share-consumer": "console_share_consumer:run",
    "kafka-consumer-groups": "consumer_groups:run",
    "kafka-consumer-perf-test": "consumer_perf_test:run",
    "kafka-delete-records": "delete_records:run",
    "kafka-dump-log": "dump_log:run",
    "kafka-e2e-latency": "e2e_latency:run",
    "kafka-features": "features:run",
    "kafka-get-offsets": "get_offsets:run",
    "kafka-groups": "groups:run",
    "kafka-json-schema-console-consumer": "console_consumer:json_schema",
    "kafka-json-schema-console-producer": "console_producer:json_schema",
    "kafka-leader-election": "leader_election:run",
    "kafka-log-dirs": "log_dirs:run",
    "kafka-producer-perf-test": "producer_perf_test:run",
    "kafka-protobuf-console-consumer": "console_consumer:protobuf",
    "kafka-protobuf-console-producer": "console_producer:protobuf",
    "kafka-reassign-partitions": "reassign_partitions:run",
    "kafka-replica-validation": "replica_verification:run",
    "kafka-replica-verification": "replica_verification:run",
    "kafka-rest-start": "starting:kafka_rest",
    "kafka-server-start": "server:start",
    "kafka-server-stop": "server:stop",
    "kafka-share-consumer-perf-test": "share_consumer_perf_test:run",
    "kafka-share-groups": "share_groups:run",
    "kafka-storage": "storage:run",
    "kafka-topics": "topics:run",
    "kafka-transactions": "transactions:run",
    "kafka-verifiable-consumer": "verifiable_consumer:run",
    "kafka-verifiable-producer": "verifiable_producer:run",
    "schema-registry-start": "starting:schema_registry",
    "zookeeper-server-start": "zookeeper_server:start",
    "zookeeper-server-stop": "zookeeper_server:stop",
    "zookeeper-shell": "zookeeper_shell:zookeeper_shell",
}
"""Which function of which module answers to a name; its module alone is loaded."""


def main() -> int:
    """The tool that this process was started as, on the words of this process."""
    name = os.path.basename(sys.argv[0]).removesuffix(".sh")
    if name not in TOOLS:
        print(f"headrace: {name} is not a name of Kafka's tools", file=sys.stderr)
        return 2
    return run(find(name))


def find(name: str) -> Command:
    """The tool of this name."""
    module, _, function = TOOLS[name].partition(":")
    command: Command = getattr(import_module(f"{__name__}.{module}"), function)
    return command


def run(command: Command) -> int:
    """Run a command on the words of this process."""
    from headrace.cli import guarded

    return guarded(command, sys.argv[1:])
