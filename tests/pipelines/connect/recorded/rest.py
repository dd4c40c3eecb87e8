"""Records the talk with real workers: `python -m tests.pipelines.connect.recorded.rest`.

A standalone and a distributed worker of Apache Kafka run on a broker of ours, one after the other.
Their answers go to `rest.json` beside this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from headrace.testing import Broker
from tests.kafka.apache_kafka import _free_ports, classpath, java_command
from tests.kafka.toolchain import run, spawn, stop
from tests.pipelines.connect.recorded.asking import answer, until
from tests.pipelines.connect.recorded.talk import Answers, talk

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "rest.json"
Kind = Literal["standalone", "distributed"]
_STRINGS = "org.apache.kafka.connect.storage.StringConverter"


def settings(bootstrap: str, folder: Path, kind: Kind) -> dict[str, str]:
    """What a worker of the talk is told, but for where it listens."""
    given = {
        "bootstrap.servers": bootstrap,
        "key.converter": _STRINGS,
        "value.converter": _STRINGS,
        "offset.flush.interval.ms": "500",
        "task.shutdown.graceful.timeout.ms": "60000",
        "consumer.metadata.max.age.ms": "1000",
    }
    if kind == "standalone":
        return {**given, "offset.storage.file.filename": str(folder / "offsets")}
    for topic in ("config", "offset", "status"):
        given[f"{topic}.storage.topic"] = f"talk-{topic}"
        given[f"{topic}.storage.replication.factor"] = "1"
    return {
        **given,
        "group.id": "talk",
        "scheduled.rebalance.max.delay.ms": "0",
        "offset.storage.partitions": "1",
        "status.storage.partitions": "1",
    }


def properties(given: dict[str, str]) -> str:
    """A file of properties."""
    return "".join(f"{key}={value}\n" for key, value in given.items())


@contextmanager
def real_worker(bootstrap: str, folder: Path, kind: Kind) -> Iterator[str]:
    """The address of a worker of Apache Kafka."""
    sources = [HERE / "java" / "RecordedSource.java", HERE / "java" / "RecordedSink.java"]
    run(["javac", "-proc:none", "-cp", classpath(), "-d", folder, *sources])
    (port,) = _free_ports(1)
    url = f"http://127.0.0.1:{port}"
    file = folder / "worker.properties"
    file.write_text(properties({**settings(bootstrap, folder, kind), "listeners": url}))
    program = f"org.apache.kafka.connect.cli.Connect{kind.capitalize()}"
    log = folder / "worker.log"
    with log.open("wb") as out:
        command = java_command(f"{classpath()}:{folder}", program, file)
        worker = spawn(command, stdout=out, stderr=subprocess.STDOUT)
    try:
        until("the worker", lambda: answer(url, "GET", "/health")["code"] == 200)
        yield url
    except BaseException:
        sys.stderr.write(log.read_text(errors="replace")[-6000:])
        raise
    finally:
        stop(worker)


def real_talk(kind: Kind) -> Answers:
    """What a worker of Apache Kafka answers."""
    with (
        tempfile.TemporaryDirectory() as name,
        Broker() as broker,
        real_worker(broker.bootstrap_servers, Path(name), kind) as url,
    ):
        return talk(url)


def main() -> int:
    """Make the file anew."""
    kinds: tuple[Kind, ...] = ("standalone", "distributed")
    lines = []
    for kind in kinds:
        each = [
            f"{json.dumps(label)}: {json.dumps(told)}" for label, told in real_talk(kind).items()
        ]
        lines.append(f'"{kind}": {{\n' + ",\n".join(each) + "\n}")
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
