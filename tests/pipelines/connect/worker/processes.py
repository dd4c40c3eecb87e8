"""Workers in processes of their own: ours by `connect-distributed`, and those of Apache Kafka."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from confluent_kafka import Producer

from headrace.pipelines.connect.state import records
from tests.kafka.apache_kafka import VERSION, classpath, java_command
from tests.kafka.toolchain import fetched, need, run, spawn, stop
from tests.pipelines.connect.worker.clustering import PATIENCE_S, until

READY = b"Connect worker ready"
START_S = 240


class Process:
    """A worker that ends with the test."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as out:
            self._process = spawn(command, stdout=out, stderr=subprocess.STDOUT)

    def stop(self, *, kill: bool = False) -> None:
        """Ask it to end and wait for that, or `kill` it."""
        if self._process.poll() is None:
            stop(self._process, kill=kill)

    def url(self) -> str:
        """Where a worker of ours, which is ready, listens by its own choice."""
        found = re.search(r"Connect worker ready on (\S+)", self.log.read_text())
        assert found is not None, self.log.read_text()
        return found[1]

    def when(self, what: str, is_so: Callable[[], object]) -> Process:
        """Itself, when it is so; it ends if that takes too long."""
        try:
            until(what, is_so, START_S)
        except AssertionError as fault:
            self.stop(kill=True)
            raise AssertionError(f"{what}\n{self.log.read_text()[-3000:]}") from fault
        return self


def ours(settings: Mapping[str, str], folder: Path, name: str) -> Process:
    """A worker of ours; it is ready when it has read the topics."""
    words = [sys.executable, "-m", "headrace.cli.kafka_compat", "connect-distributed"]
    made = Process([*words, str(written(settings, folder, name))], folder / f"{name}.log")
    return made.when(f"{name} is ready", lambda: READY in made.log.read_bytes())


def real(settings: Mapping[str, str], folder: Path, name: str) -> Process:
    """A worker of Apache Kafka; it is ready when it is healthy."""
    where = f"{classpath()}:{connect_file()}"
    program = "org.apache.kafka.connect.cli.ConnectDistributed"
    made = Process(
        java_command(where, program, written(settings, folder, name)), folder / f"{name}.log"
    )
    url = settings["listeners"]
    return made.when(f"{name} is healthy", lambda: asked(url, "GET", "/health")[0] == 200)


def written(settings: Mapping[str, str], folder: Path, name: str) -> Path:
    """A properties file."""
    file = folder / f"{name}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    return file


def connect_file() -> str:
    """The FileStream connectors of Apache Kafka, as a part of a class path."""

    def fill(folder: Path) -> None:
        copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        artifact = f"-Dartifact=org.apache.kafka:connect-file:{VERSION}"
        run([need("mvn"), "-q", "-B", copy, artifact, f"-DoutputDirectory={folder}"])

    return f"{fetched(f'connect-file-{VERSION}', fill)}/*"


def asked(url: str, method: str, path: str, body: object = None) -> tuple[int, object]:
    """What a worker answers; 0 if it does not."""
    sent = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url + path, sent, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as got:
            code, text = got.status, got.read()
    except urllib.error.HTTPError as fault:
        code, text = fault.code, fault.read()
    except OSError:
        return 0, None
    try:
        return code, json.loads(text) if text else None
    except ValueError:
        return code, None  # a page of the server, before the worker answers


def configure(bootstrap: str, group: str, name: str, config: Mapping[str, str]) -> None:
    """Write a connector's settings into the topic, as a leader does that ends before all else."""
    key, value = records.connector_config(name, {**config, "name": name})
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(f"{group}-config", value, key)
    assert producer.flush(PATIENCE_S) == 0
