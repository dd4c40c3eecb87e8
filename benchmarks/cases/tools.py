"""tools: how long each of Kafka's command-line tools takes, beside ours of the same name.

Every one does the least that it can be asked for, against the same broker of ours: what is timed is
its start, from the process to the first answer. Those that only ever wait are asked for help.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from collections.abc import Collection, Sequence

from benchmarks.bench import Bench, Scenario
from benchmarks.errors import BenchmarkError
from benchmarks.kafka import jars
from benchmarks.kafka.server import tool_command
from benchmarks.kafka.tools import CLASSES
from benchmarks.table import OURS, THEIRS, Metric, Row, at_most

_TOPIC = "tools"
_THERE = "--bootstrap-server {bootstrap}"
_ONE = f"{_THERE} --topic {_TOPIC} --num-records 1"
_COMMANDS = {
    "kafka-broker-api-versions": _THERE,
    "kafka-client-metrics": f"{_THERE} --list",
    "kafka-cluster": f"cluster-id {_THERE}",
    "kafka-configs": f"{_THERE} --describe --entity-type topics --entity-name {_TOPIC}",
    "kafka-console-consumer": f"{_THERE} --topic {_TOPIC} --from-beginning --max-messages 1",
    "kafka-console-producer": f"{_THERE} --topic {_TOPIC}",
    "kafka-console-share-consumer": "--help",
    "kafka-consumer-groups": f"{_THERE} --list",
    "kafka-consumer-perf-test": _ONE,
    "kafka-delete-records": f"{_THERE} --offset-json-file {{folder}}/delete.json",
    "kafka-dump-log": f"--files {{data}}/{_TOPIC}-0/00000000000000000000.log",
    "kafka-e2e-latency": f"{_ONE} --producer-acks 1 --record-size 10",
    "kafka-features": f"{_THERE} describe",
    "kafka-get-offsets": _THERE,
    "kafka-groups": f"{_THERE} --list",
    "kafka-leader-election": f"{_THERE} --election-type preferred --all-topic-partitions",
    "kafka-log-dirs": f"{_THERE} --describe",
    "kafka-producer-perf-test": f"{_ONE} --record-size 10 --throughput -1",
    "kafka-reassign-partitions": f"{_THERE} --list",
    "kafka-replica-verification": "--help",
    "kafka-share-consumer-perf-test": "--help",
    "kafka-share-groups": f"{_THERE} --list",
    "kafka-storage": "random-uuid",
    "kafka-topics": f"{_THERE} --describe",
    "kafka-transactions": f"{_THERE} list",
    "kafka-verifiable-consumer": "--help",
    "kafka-verifiable-producer": f"{_THERE} --topic {_TOPIC} --max-messages 1",
}
_ROWS = {tool: Row("tools", tool, (Metric("seconds", "s", at_most(0.25)),)) for tool in _COMMANDS}
_DELETE = f'{{"partitions": [{{"topic": "{_TOPIC}", "partition": 0, "offset": 0}}], "version": 1}}'
_TIMEOUT_S = 120


def run(bench: Bench, wanted: Collection[str]) -> None:
    class_path = jars.class_path(jars.VERSION)
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with bench.broker(bench.launchers[0], settings) as broker, bench.scratch() as folder:
        broker.start()
        there = ["--bootstrap-server", broker.bootstrap, "--topic", _TOPIC]
        _run(_ours("kafka-topics", [*there, "--create"]), (0,))
        _run(_ours("kafka-console-producer", there), (0,), "a record\n")
        (folder / "delete.json").write_text(_DELETE)
        places = {"bootstrap": broker.bootstrap, "folder": folder, "data": broker.data}
        for _ in bench.repetitions:
            for tool, command in _COMMANDS.items():
                words = shlex.split(command.format(**places))
                # Kafka's own tools end with 0 or with 1 after --help.
                codes = (0, 1) if words == ["--help"] else (0,)
                java = [*tool_command(class_path), CLASSES[tool], *words]
                for name, line in ((OURS, _ours(tool, words)), (THEIRS, java)):
                    bench.record(_ROWS[tool], name, {"seconds": _run(line, codes)})
        broker.stop()


def _ours(tool: str, words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "headrace.cli.kafka_compat", tool, *words]


def _run(command: Sequence[str], codes: Collection[int], stdin: str = "") -> float:
    began = time.perf_counter()
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode not in codes:
        told = (done.stdout + done.stderr)[-1000:]
        raise BenchmarkError(f"{' '.join(command[2:])} ended with {done.returncode}:\n{told}")
    return seconds


SCENARIO = Scenario(tuple(_ROWS.values()), run)
