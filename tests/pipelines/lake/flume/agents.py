"""Agents in this process: their files, and what they write."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.java.properties import parse_properties
from headrace.pipelines.lake.flume.agent import Agent
from headrace.pipelines.lake.flume.agent_file import read_agent
from headrace.pipelines.lake.flume.components import Surroundings
from headrace.runtime.clock import SystemClock

PATIENCE_S = 60

FLUMEKAFKA = """\
pipeline.sources = kafka1
pipeline.channels = channel1
pipeline.sinks = hdfssink
pipeline.sources.kafka1.type = org.apache.flume.source.kafka.KafkaSource
pipeline.sources.kafka1.ZookeeperConnect = zk01.example.com:2181
pipeline.sources.kafka1.topic = {topic}
pipeline.sources.kafka1.groupId = kafkaflume-{topic}
pipeline.sources.kafka1.channels = channel1
pipeline.sources.kafka1.interceptors = i1
pipeline.sources.kafka1.interceptors.i1.type = timestamp
pipeline.sources.kafka1.kafka.consumer.timeout.ms = 100
pipeline.channels.channel1.type = memory
pipeline.channels.channel1.capacity = 100000
pipeline.channels.channel1.transactionCapacity = 10000
pipeline.sinks.hdfssink.type = hdfs
pipeline.sinks.hdfssink.hdfs.path = {folder}/user/hdfspath
pipeline.sinks.hdfssink.hdfs.rollInterval = 10
pipeline.sinks.hdfssink.hdfs.rollSize = 0
pipeline.sinks.hdfssink.hdfs.rollCount = 0
pipeline.sinks.hdfssink.hdfs.fileType = DataStream
pipeline.sinks.hdfssink.channel = channel1
"""


class Running:
    """An agent at work, and the lines that it shows."""

    def __init__(self, text: str, bootstrap: str) -> None:
        self.told: list[str] = []
        around = Surroundings(
            SystemClock(), threading.Event(), self.told.append, lambda zookeeper: bootstrap
        )
        self.agent = Agent(read_agent(parse_properties(text), "pipeline", "flume.conf"), around)

    def until(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < end, self.told
            assert not self.agent.ended.is_set(), self.told
            time.sleep(0.02)


@contextmanager
def running(text: str, bootstrap: str) -> Iterator[Running]:
    """An agent that is stopped at the end."""
    made = Running(text, bootstrap)
    made.agent.start()
    try:
        yield made
    finally:
        made.agent.stop()


def finished(folder: Path) -> list[Path]:
    """Files that have their names."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in found if path.suffix != ".tmp"]


def lines(folder: Path) -> list[bytes]:
    """Every line of every file that has its name."""
    return [line for path in finished(folder) for line in path.read_bytes().splitlines()]
