"""Records what a real worker answers and writes: `python -m tests.pipelines.connect.recorded`.

A distributed worker of Apache Kafka runs on a broker of ours. Its answers go to `answers.json` and
the records of its three topics to `topics.json`, beside this file. Both are compared with ours.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.testing import Broker
from tests.kafka.apache_kafka import _free_ports, classpath, java_command
from tests.kafka.toolchain import run, spawn, stop
from tests.pipelines.connect.recorded import asking
from tests.pipelines.connect.recorded.asking import answer, until
from tests.pipelines.connect.recorded.cases import SINK, SOURCE, VALIDATED

HERE = Path(__file__).resolve().parent
RESTART_SECONDS = 10


def life(url: str) -> list[dict[str, object]]:
    """Connectors from their creation to their end, with what is wrong at each step."""
    kept: list[dict[str, object]] = []

    def ask(method: str, path: str, body: object = None) -> dict[str, object]:
        kept.append(answer(url, method, path, body))
        return kept[-1]

    def settled(name: str, wanted: str) -> None:
        asking.settled(url, name, wanted)

    source = {**SOURCE, "tasks.max": "2"}
    ask("GET", "/connectors/none")
    ask("GET", "/connectors/none/config")
    ask("GET", "/connectors/none/tasks")
    ask("GET", "/connectors/none/status")
    ask("GET", "/connectors/none/offsets")
    ask("PUT", "/connectors/none/pause")
    ask("PUT", "/connectors/none/resume")
    ask("PUT", "/connectors/none/stop")
    ask("POST", "/connectors/none/restart")
    ask("POST", "/connectors/none/restart?includeTasks=true")
    ask("POST", "/connectors/none/tasks/0/restart")
    ask("DELETE", "/connectors/none")
    ask("DELETE", "/connectors/none/offsets")
    ask("PATCH", "/connectors/none/config", {"a": "b"})
    ask("POST", "/connectors", {"name": "s", "config": source})
    settled("s", "RUNNING,RUNNING")
    ask("POST", "/connectors", {"name": "s", "config": source})
    ask("POST", "/connectors", {"name": "other", "config": source})
    ask("POST", "/connectors", {"name": "bad", "config": {**source, "name": "bad", "topic": ""}})
    ask("POST", "/connectors", {"name": "noclass", "config": {"topic": "x"}})
    ask("POST", "/connectors", {"name": "nope", "config": {"connector.class": "no.Such"}})
    ask("POST", "/connectors", {"name": "sth", "config": {"connector.class": "RecordedSourc"}})
    ask("POST", "/connectors", {"name": "b", "config": source, "initial_state": "SLEEPING"})
    ask("PUT", "/connector-plugins/RecordedSource/config/validate", SINK)
    ask("PUT", "/connector-plugins/NoSuch/config/validate", {"connector.class": "NoSuch"})
    ask("POST", "/connectors", {"name": "k", "config": SINK, "initial_state": "STOPPED"})
    settled("k", "STOPPED")
    ask("GET", "/connectors/k/status")
    ask("GET", "/connectors/s")
    ask("GET", "/connectors/s/tasks/9/status")
    ask("POST", "/connectors/s/tasks/9/restart")
    ask("DELETE", "/connectors/s/offsets")
    moved = {"offsets": [{"partition": {"number": 0}, "offset": {"position": 3}}]}
    ask("PATCH", "/connectors/s/offsets", moved)
    ask("PATCH", "/connectors/s/config", {"batch.size": "5", "mode": None})
    settled("s", "RUNNING,RUNNING")
    ask("PUT", "/connectors/s/pause")
    settled("s", "PAUSED,PAUSED")
    ask("POST", "/connectors/s/restart?includeTasks=true&onlyFailed=true")
    ask("PUT", "/connectors/s/resume")
    settled("s", "RUNNING,RUNNING")
    ask("POST", "/connectors/s/restart?includeTasks=true")
    time.sleep(RESTART_SECONDS)  # it is RUNNING before and after, and a stop must not overtake it
    settled("s", "RUNNING,RUNNING")
    ask("PUT", "/connectors/s/stop")
    settled("s", "STOPPED")
    ask("GET", "/connectors/s/tasks")
    ask("GET", "/connectors/s/status")
    ask("PATCH", "/connectors/s/offsets", {"offsets": []})
    ask("PATCH", "/connectors/s/offsets", {})
    ask("PATCH", "/connectors/s/offsets", moved)
    ask("GET", "/connectors/s/offsets")
    ask("DELETE", "/connectors/s/offsets")
    ask("PATCH", "/connectors/k/offsets", moved)
    ask("DELETE", "/connectors/k/offsets")
    ask("PUT", "/connectors/s/resume")
    settled("s", "RUNNING,RUNNING")
    ask("PUT", "/connectors/f/config", {**source, "name": "f", "file": "fail", "tasks.max": "1"})
    settled("f", "RUNNING,FAILED")
    ask("PUT", "/admin/loggers/org.apache.kafka.connect.runtime?scope=cluster", {"level": "WARN"})
    ask("PUT", "/admin/loggers/x?scope=cluster", {"level": "LOUD"})
    ask("POST", "/connectors/f/restart?includeTasks=true&onlyFailed=true")
    ask("DELETE", "/connectors/f")
    ask("PUT", "/connectors/s/topics/reset")
    ask("GET", "/connectors")
    return kept


def written(servers: str, topics: list[str]) -> dict[str, list[list[str | None]]]:
    """Every record of these topics by partition and offset, keys and values in base64."""
    known = AdminClient({"bootstrap.servers": servers}).list_topics(timeout=20).topics
    options = {"bootstrap.servers": servers, "group.id": "d", "auto.offset.reset": "earliest"}
    kept: dict[str, list[list[str | None]]] = {}
    consumer = Consumer({**options, "enable.partition.eof": True})
    for topic in topics:
        parts = list(known[topic].partitions)
        consumer.assign([TopicPartition(topic, part, 0) for part in parts])
        ended = 0
        kept[topic] = []
        while ended < len(parts):
            record = consumer.poll(30)
            assert record is not None
            if record.error():
                ended += 1
                continue
            pair = (record.key(), record.value())
            kept[topic].append(
                [None if part is None else base64.b64encode(part).decode() for part in pair]
            )
    consumer.close()
    return kept


def main() -> int:
    """Make both files anew."""
    with tempfile.TemporaryDirectory() as name, Broker() as broker:
        folder = Path(name)
        sources = [HERE / "java" / "RecordedSource.java", HERE / "java" / "RecordedSink.java"]
        run(["javac", "-proc:none", "-cp", classpath(), "-d", folder, *sources])
        (port,) = _free_ports(1)
        settings = {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "recorded",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "listeners": f"http://127.0.0.1:{port}",
            "exactly.once.source.support": "enabled",
            "connector.client.config.override.policy": "Principal",
            "scheduled.rebalance.max.delay.ms": "0",
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            "offset.flush.interval.ms": "1000",
            "task.shutdown.graceful.timeout.ms": "60000",
        }
        for kind in ("config", "offset", "status"):
            settings[f"{kind}.storage.topic"] = f"recorded-{kind}"
            settings[f"{kind}.storage.replication.factor"] = "1"
        file = folder / "worker.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        where = f"{classpath()}:{folder}"
        command = java_command(where, "org.apache.kafka.connect.cli.ConnectDistributed", file)
        with (folder / "worker.log").open("wb") as log:
            worker = spawn(command, stdout=log, stderr=subprocess.STDOUT)
        url = f"http://127.0.0.1:{port}"
        try:
            until("the worker", lambda: answer(url, "GET", "/health")["code"] == 200)
            validated = {
                label: answer(url, "PUT", _validation(given), given)
                for label, given in VALIDATED.items()
            }
            answers = {**_shared(validated), "life": life(url)}
            topics = written(broker.bootstrap_servers, [f"recorded-{k}" for k in _KINDS])
        except BaseException:
            sys.stderr.write((folder / "worker.log").read_text(errors="replace")[-6000:])
            raise
        finally:
            stop(worker)
    text = json.dumps(answers).replace('{"answer"', '\n{"answer"')
    (HERE / "answers.json").write_text(text + "\n")
    (HERE / "topics.json").write_text(json.dumps(topics, indent=1) + "\n")
    return 0


_KINDS = ("config", "offset", "status")


def _shared(validated: dict[str, dict[str, object]]) -> dict[str, object]:
    """Each definition once: an answer then has its number in `definitions`."""
    definitions: list[object] = []
    for each in validated.values():
        told = each["answer"]
        assert isinstance(told, dict)
        for config in told.get("configs", ()):
            if config["definition"] not in definitions:
                definitions.append(config["definition"])
            config["definition"] = definitions.index(config["definition"])
    return {"validated": validated, "definitions": definitions}


def _validation(given: dict[str, str]) -> str:
    plugin = given.get("connector.class", "RecordedSource")
    return f"/connector-plugins/{plugin}/config/validate"


if __name__ == "__main__":
    sys.exit(main())
