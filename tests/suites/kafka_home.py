"""A folder laid out like an Apache Kafka release, made of the jars that Maven fetches.

librdkafka's tests call Kafka's shell tools by ``$KAFKA_PATH/bin``, and our Java checks run the
same scripts. Each script is one line: a class name and the arguments.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.kafka.apache_kafka import HERE as KAFKA_FILES
from tests.kafka.apache_kafka import VERSION, classpath
from tests.kafka.toolchain import fetched
from tests.suites.running import need

TOOLS = {
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
    "kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
}

# CLASSPATH is honoured because librdkafka's Java programs are found through it.
_RUN_CLASS = """#!/usr/bin/env bash
home=$(cd "$(dirname "$0")/.." && pwd)
exec java ${KAFKA_HEAP_OPTS:--Xmx256m} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \\
    -Dlog4j2.configurationFile="$home/log4j2.xml" -cp "${CLASSPATH:+$CLASSPATH:}$home/libs/*" "$@"
"""
_TOOL = """#!/usr/bin/env bash
exec "$(dirname "$0")/kafka-run-class.sh" {} "$@"
"""


def kafka_home() -> Path:
    """The folder, made on first use."""
    need("java", "mvn")
    jars = Path(classpath().removesuffix("/*"))

    def fill(folder: Path) -> None:
        (folder / "bin").mkdir()
        (folder / "libs").symlink_to(jars)
        shutil.copy(KAFKA_FILES / "log4j2.xml", folder / "log4j2.xml")
        _write_script(folder, "kafka-run-class", _RUN_CLASS)
        for name, java_class in TOOLS.items():
            _write_script(folder, name, _TOOL.format(java_class))

    return fetched(f"kafka-home-{VERSION}", fill)


def _write_script(folder: Path, name: str, text: str) -> None:
    script = folder / "bin" / f"{name}.sh"
    script.write_text(text)
    script.chmod(0o755)
