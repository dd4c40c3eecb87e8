"""Agents: from topics into files, with nothing lost on the way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.kafka.toolchain import spawn, stop
from tests.pipelines.lake.flume.agents import FLUMEKAFKA, PATIENCE_S, finished, lines, running
from tests.pipelines.source.topics import Topics


def conf(topics: Topics, folder: Path, topic: str, *more: str) -> str:
    """The agent file of a book, with quick groups, and lines over its own."""
    text = FLUMEKAFKA.format(topic=topic, folder=folder)
    return "\n".join([text, *(f"pipeline.{line}" for line in more)])


@pytest.mark.spec("book2:A9-01", "book2:A9-03", "book2:A9-04", "book2:A9-05", "book2:A9-06")
@pytest.mark.spec("book2:A9-07", "book2:A9-10")
def test_the_agent_file_of_a_book(topics: Topics, tmp_path: Path) -> None:
    """A file each second, here; offsets are committed once their records are in finished files."""
    topic = topics.create()
    topics.produce(topic, [b"one", b"two"])
    folder = tmp_path / "user/hdfspath"
    text = conf(topics, tmp_path, topic, "sinks.hdfssink.hdfs.rollInterval = 1")
    with running(text, topics.bootstrap_servers) as agent:
        assert agent.agent.remarks == ()
        agent.until(lambda: lines(folder) == [b"one", b"two"])
        agent.until(lambda: topics.committed(f"kafkaflume-{topic}") == {(topic, 0): 2})
        before = finished(folder)  # one file, unless a second passed between the first two records
        topics.produce(topic, [b"three"])
        agent.until(lambda: len(finished(folder)) == len(before) + 1)
    names = [path.name for path in finished(folder)]
    assert all(re.fullmatch(r"FlumeData\.\d{13}", name) for name in names), names
    assert lines(folder) == [b"one", b"two", b"three"]


@pytest.mark.spec("book2:A9-02")
def test_what_is_in_an_open_file_is_not_committed(topics: Topics, tmp_path: Path) -> None:
    """Until the agent stops and the file gets its name."""
    topic = topics.create()
    topics.produce(topic, [b"one"])
    folder = tmp_path / "user/hdfspath"
    text = conf(topics, tmp_path, topic, "sinks.hdfssink.hdfs.rollInterval = 0")
    with running(text, topics.bootstrap_servers) as agent:
        agent.until(lambda: any(folder.glob("*.tmp")))
        assert topics.committed(f"kafkaflume-{topic}") == {}
    assert lines(folder) == [b"one"]
    assert topics.committed(f"kafkaflume-{topic}") == {(topic, 0): 1}


def test_two_channels_and_folders_by_headers(topics: Topics, tmp_path: Path) -> None:
    """Each sink has every event; offsets wait for both."""
    topic = topics.create()
    topics.produce(topic, [b"keep 1", b"drop", b"keep 2"], key=b"k", timestamp=1_763_467_200_000)
    text = conf(
        topics,
        tmp_path,
        topic,
        "channels = channel1 channel2",
        "sinks = hdfssink other",
        "sources.kafka1.channels = channel1 channel2",
        "sources.kafka1.interceptors = i2 i3",
        "sources.kafka1.interceptors.i2.type = regex_filter",
        "sources.kafka1.interceptors.i2.regex = ^drop",
        "sources.kafka1.interceptors.i2.excludeEvents = true",
        "sources.kafka1.interceptors.i3.type = static",
        "sources.kafka1.interceptors.i3.key = centre",
        "sources.kafka1.interceptors.i3.value = north",
        "channels.channel2.type = memory",
        "sinks.other.type = hdfs",
        "sinks.other.channel = channel2",
        f"sinks.other.hdfs.path = {tmp_path}/other/%{{centre}}/%{{key}}/%Y-%m-%d/%H",
        "sinks.other.hdfs.fileType = DataStream",
        "sinks.other.hdfs.filePrefix = events-%{partition}",
        "sinks.other.hdfs.fileSuffix = .log",
        "sinks.other.hdfs.rollCount = 1",
        "sinks.hdfssink.hdfs.rollCount = 1",
    )
    with running(text, topics.bootstrap_servers) as agent:
        agent.until(lambda: topics.committed(f"kafkaflume-{topic}") == {(topic, 0): 3})
    assert sorted(lines(tmp_path / "user")) == [b"keep 1", b"keep 2"]
    found = finished(tmp_path / "other")
    assert {str(path.parent.relative_to(tmp_path)) for path in found} == {
        "other/north/k/2025-11-18/12"
    }
    assert all(re.fullmatch(r"events-0\.\d+\.log", path.name) for path in found)
    assert sorted(lines(tmp_path / "other")) == [b"keep 1", b"keep 2"]


def test_a_sink_that_fails_loses_nothing(topics: Topics, tmp_path: Path) -> None:
    """A file stands where its folder must be; when it is gone, everything is written."""
    topic = topics.create()
    values = [b"%d" % number for number in range(20)]
    topics.produce(topic, values)
    (tmp_path / "user").write_bytes(b"")
    text = conf(
        topics,
        tmp_path,
        topic,
        "sinks.hdfssink.hdfs.rollCount = 7",
        "sinks.hdfssink.hdfs.rollInterval = 1",
    )
    with running(text, topics.bootstrap_servers) as agent:
        agent.until(lambda: any("a file stands where a folder must be" in t for t in agent.told))
        assert topics.committed(f"kafkaflume-{topic}") == {}
        (tmp_path / "user").unlink()
        agent.until(lambda: topics.committed(f"kafkaflume-{topic}") == {(topic, 0): 20})
    assert set(lines(tmp_path / "user")) == set(values)


def test_into_another_topic(topics: Topics, tmp_path: Path) -> None:
    topic, target = topics.create(), topics.create()
    topics.produce(topic, [b"one", b"two"])
    text = conf(
        topics,
        tmp_path,
        topic,
        "sinks.hdfssink.type = org.apache.flume.sink.kafka.KafkaSink",
        f"sinks.hdfssink.kafka.bootstrap.servers = {topics.bootstrap_servers}",
        f"sinks.hdfssink.kafka.topic = {target}",
        "sinks.hdfssink.allowTopicOverride = false",
    )
    with running(text, topics.bootstrap_servers) as agent:
        assert "pipeline.sinks.hdfssink.hdfs.path is unknown and has no effect" in "\n".join(
            agent.agent.remarks
        )
        agent.until(lambda: topics.committed(f"kafkaflume-{topic}") == {(topic, 0): 2})
    with running(
        conf(topics, tmp_path, target, "sinks.hdfssink.type = logger"), topics.bootstrap_servers
    ) as shown:
        shown.until(lambda: len([line for line in shown.told if "Event:" in line]) == 2)
    assert "body: 6F 6E 65 one" in shown.told[0]


@pytest.mark.spec("book2:A9-08", "book2:A9-09")
def test_an_agent_that_is_killed_loses_nothing(topics: Topics, tmp_path: Path) -> None:
    """kill -9 of `flume-ng agent` while files are being rolled; a second one writes the rest."""
    topic = topics.create()
    file = tmp_path / "flumekafka.conf"
    file.write_text(
        conf(
            topics,
            tmp_path,
            topic,
            f"sources.kafka1.kafka.bootstrap.servers = {topics.bootstrap_servers}",
            "sources.kafka1.kafka.consumer.session.timeout.ms = 6000",
            "sinks.hdfssink.hdfs.rollInterval = 1",
            "sinks.hdfssink.hdfs.rollCount = 300",
        )
    )
    values = [b"%d" % number for number in range(2000)]
    folder = tmp_path / "user/hdfspath"
    command = [sys.executable, "-m", "headrace.cli.kafka_compat", "flume-ng", "agent"]
    command += ["-c", str(tmp_path), "-f", str(file), "-n", "pipeline"]
    log = (tmp_path / "log").open("wb")
    first = spawn(command, stderr=subprocess.STDOUT, stdout=log)
    try:
        topics.produce(topic, values[:1000])
        until(lambda: len(lines(folder)) >= 300, tmp_path / "log")
        os.kill(first.pid, signal.SIGKILL)
    finally:
        stop(first)
    topics.produce(topic, values[1000:])
    second = spawn(command, stderr=subprocess.STDOUT, stdout=log)
    try:
        until(lambda: set(lines(folder)) == set(values), tmp_path / "log")
        second.send_signal(signal.SIGTERM)
        assert second.wait(PATIENCE_S) == 128 + signal.SIGTERM
    finally:
        stop(second)
        log.close()
    assert topics.committed(f"kafkaflume-{topic}") == {(topic, 0): 2000}
    assert (
        "agent pipeline started: sources kafka1, channels channel1, sinks hdfssink"
        in (tmp_path / "log").read_text()
    )


def until(is_so: object, log: Path) -> None:
    assert callable(is_so)
    end = time.monotonic() + 2 * PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.05)
