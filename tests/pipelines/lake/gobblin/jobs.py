"""A job of Gobblin in a folder of a test: `kafka_to_hdfs.conf`, and what it has published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headrace.pipelines.lake.gobblin.job import Report, run_job
from headrace.pipelines.lake.gobblin.settings import read_settings
from headrace.pipelines.lake.jobs.running import Runner, in_threads
from headrace.runtime.clock import SystemClock
from tests.pipelines.source.topics import Topics

KAFKA_TO_HDFS = """\
job.name=kafkatohdfs
job.group=Kafka
job.description=Kafka to Hadoop job
job.lock.enabled=false
kafka.brokers={brokers}
source.class=Gobblin.source.extractor.extract.kafka.KafkaSimpleSource
extract.namespace=Gobblin.extract.kafka
writer.builder.class=Gobblin.writer.SimpleDataWriterBuilder
writer.file.path.type=tablename
writer.destination.type=HDFS
writer.output.format=txt
data.publisher.type=Gobblin.publisher.BaseDataPublisher
mr.job.max.mappers=1
metrics.reporting.file.enabled=true
metrics.log.dir={folder}/Gobblin-kafka/metrics
metrics.reporting.file.suffix=txt
bootstrap.with.offset=earliest
fs.uri=file:///
writer.fs.uri=file:///
state.store.fs.uri=file:///
mr.job.root.dir={folder}/Gobblin-kafka/working
state.store.dir={folder}/Gobblin-kafka/state-store
task.data.root.dir={folder}/jobs/kafkaetl/Gobblin/Gobblin-kafka/task-data
data.publisher.final.dir={folder}/Gobblintest/job-output
"""


class Gobblin:
    """The job, with one topic and, where a test says so, other settings."""

    def __init__(self, topics: Topics, folder: Path, topic: str) -> None:
        self.folder = folder
        text = KAFKA_TO_HDFS.format(brokers=topics.bootstrap_servers, folder=folder)
        self.path = folder / "kafka_to_hdfs.conf"
        self.path.write_text(f"{text}topic.whitelist={topic}\n")
        pairs = (line.split("=", 1) for line in self.path.read_text().splitlines())
        self.given = {pair[0]: pair[1] for pair in pairs}
        self.final = folder / "Gobblintest/job-output"

    def run(self, runner: Runner = in_threads, /, **over: str) -> Report:
        given = self.given | {name.replace("__", "."): value for name, value in over.items()}
        return run_job(read_settings(given, "kafka_to_hdfs.conf"), runner, SystemClock())

    def lines(self, below: str = "") -> list[bytes]:
        """Every line that is published."""
        files = sorted(path for path in (self.final / below).rglob("*") if path.is_file())
        return [line for path in files for line in path.read_bytes().splitlines()]

    def state(self) -> dict[str, Any]:
        """What the state store keeps of each work unit."""
        path = self.folder / "Gobblin-kafka/state-store/kafkatohdfs/current.json"
        found: dict[str, Any] = json.loads(path.read_bytes())["units"]
        return found
