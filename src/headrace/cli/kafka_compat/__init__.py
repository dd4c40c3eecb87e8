"""The names that Kafka's and Confluent's tools have, with their flags and their output.

Each function below is a command, with and without `.sh`; `main` gives it what all of ours have: one
line for an error, exit codes 0, 1 and 2, and no stack trace unless `--debug`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

Command = Callable[[list[str]], int]


def main(command: Command) -> int:
    """Run a command on the words of this process."""
    from headrace.cli import tell

    words = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        code = command(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter would complain when it flushes the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        return tell(error)
    return code


def kafka_avro_console_producer() -> int:
    from headrace.cli.kafka_compat.console_producer import avro

    return main(avro)


def kafka_avro_console_consumer() -> int:
    from headrace.cli.kafka_compat.console_consumer import avro

    return main(avro)


def kafka_json_schema_console_producer() -> int:
    from headrace.cli.kafka_compat.console_producer import json_schema

    return main(json_schema)


def kafka_json_schema_console_consumer() -> int:
    from headrace.cli.kafka_compat.console_consumer import json_schema

    return main(json_schema)


def kafka_protobuf_console_producer() -> int:
    from headrace.cli.kafka_compat.console_producer import protobuf

    return main(protobuf)


def kafka_protobuf_console_consumer() -> int:
    from headrace.cli.kafka_compat.console_consumer import protobuf

    return main(protobuf)


def schema_registry_start() -> int:
    from headrace.cli.kafka_compat.starting import schema_registry

    return main(schema_registry)


def kafka_rest_start() -> int:
    from headrace.cli.kafka_compat.starting import kafka_rest

    return main(kafka_rest)


def kafka_topics() -> int:
    from headrace.cli.kafka_compat.topics import run

    return main(run)


def kafka_reassign_partitions() -> int:
    from headrace.cli.kafka_compat.reassign_partitions import run

    return main(run)


def kafka_leader_election() -> int:
    from headrace.cli.kafka_compat.leader_election import run

    return main(run)


def kafka_replica_verification() -> int:
    from headrace.cli.kafka_compat.replica_verification import run

    return main(run)


def kafka_cluster() -> int:
    from headrace.cli.kafka_compat.cluster import run

    return main(run)


def zookeeper_server_start() -> int:
    from headrace.cli.kafka_compat.zookeeper_server import start

    return main(start)


def zookeeper_server_stop() -> int:
    from headrace.cli.kafka_compat.zookeeper_server import stop

    return main(stop)


def zookeeper_shell() -> int:
    from headrace.cli.kafka_compat.zookeeper_shell import zookeeper_shell as run

    return main(run)


def kafka_configs() -> int:
    from headrace.cli.kafka_compat.configs import run

    return main(run)


def kafka_console_producer() -> int:
    from headrace.cli.kafka_compat.console_producer import run

    return main(run)


def kafka_console_consumer() -> int:
    from headrace.cli.kafka_compat.console_consumer import run

    return main(run)


def kafka_console_share_consumer() -> int:
    from headrace.cli.kafka_compat.console_share_consumer import run

    return main(run)


def kafka_consumer_groups() -> int:
    from headrace.cli.kafka_compat.consumer_groups import run

    return main(run)


def kafka_share_groups() -> int:
    from headrace.cli.kafka_compat.share_groups import run

    return main(run)


def kafka_groups() -> int:
    from headrace.cli.kafka_compat.groups import run

    return main(run)


def kafka_dump_log() -> int:
    from headrace.cli.kafka_compat.dump_log import run

    return main(run)


def kafka_get_offsets() -> int:
    from headrace.cli.kafka_compat.get_offsets import run

    return main(run)


def kafka_delete_records() -> int:
    from headrace.cli.kafka_compat.delete_records import run

    return main(run)


def kafka_transactions() -> int:
    from headrace.cli.kafka_compat.transactions import run

    return main(run)


def kafka_producer_perf_test() -> int:
    from headrace.cli.kafka_compat.producer_perf_test import run

    return main(run)


def kafka_consumer_perf_test() -> int:
    from headrace.cli.kafka_compat.consumer_perf_test import run

    return main(run)


def kafka_share_consumer_perf_test() -> int:
    from headrace.cli.kafka_compat.share_consumer_perf_test import run

    return main(run)


def kafka_e2e_latency() -> int:
    from headrace.cli.kafka_compat.e2e_latency import run

    return main(run)


def kafka_broker_api_versions() -> int:
    from headrace.cli.kafka_compat.broker_api_versions import run

    return main(run)


def kafka_log_dirs() -> int:
    from headrace.cli.kafka_compat.log_dirs import run

    return main(run)


def kafka_features() -> int:
    from headrace.cli.kafka_compat.features import run

    return main(run)


def kafka_verifiable_producer() -> int:
    from headrace.cli.kafka_compat.verifiable_producer import run

    return main(run)


def kafka_verifiable_consumer() -> int:
    from headrace.cli.kafka_compat.verifiable_consumer import run

    return main(run)


def kafka_client_metrics() -> int:
    from headrace.cli.kafka_compat.client_metrics import run

    return main(run)


def kafka_storage() -> int:
    from headrace.cli.kafka_compat.storage import run

    return main(run)


def kafka_server_start() -> int:
    from headrace.cli.kafka_compat.server import start

    return main(start)


def kafka_server_stop() -> int:
    from headrace.cli.kafka_compat.server import stop

    return main(stop)
