"""connect: a distributed worker beside Apache Kafka's, on one broker of ours.

Start and idle memory; a connector from its creation to its first task; lines of a file into a topic
and back, as text and as JSON behind four transforms; fifty connectors that have nothing to do. CPU
is that of the worker and everything it started, until the last record is where it belongs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from benchmarks import admin
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker
from benchmarks.connect import workers
from benchmarks.connect.workers import Worker, started
from benchmarks.errors import BenchmarkError
from benchmarks.kafka import jars
from benchmarks.table import OURS, THEIRS, Metric, Row, at_least, at_most

_START = Row(
    "connect",
    "start, idle",
    (Metric("cpu", "s", at_most(0.15)), Metric("time", "s"), Metric("pss", "MiB", at_most(0.2))),
)
_CREATE = Row("connect", "create to running", (Metric("time", "ms", at_most(1.0)),))
_SOURCE = Row(
    "connect",
    "file to topic",
    (Metric("cpu", "s/million", at_most(0.2)), Metric("records", "1/s", at_least(1.5))),
)
_JSON = Row(
    "connect",
    "file to topic, JSON, 4 transforms",
    (Metric("cpu", "s/million", at_most(0.3)), Metric("records", "1/s")),
)
_SINK = Row(
    "connect",
    "topic to file",
    (Metric("cpu", "s/million", at_most(0.1)), Metric("records", "1/s", at_least(3.0))),
)
_IDLE = Row(
    "connect",
    "50 idle connectors",
    (Metric("pss", "MiB", at_most(0.3)), Metric("cpu", "%", at_most(1.0))),
)
_SPARK = Row("connect", "50 idle connectors on Spark", (Metric("pss", "MiB", at_most(1.5)),))

_LINES = 1_000_000
_LINE_BYTES = 100
_WARM_UP_ROUNDS = 3
_IDLE_CONNECTORS = 50
_IDLE_S = 10.0
_FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
_FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
_TRANSFORMS = "org.apache.kafka.connect.transforms."
_CHAIN = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "transforms": "hoist,insert,rename,mask",
    "transforms.hoist.type": _TRANSFORMS + "HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": _TRANSFORMS + "InsertField$Value",
    "transforms.insert.static.field": "from",
    "transforms.insert.static.value": "a file",
    "transforms.rename.type": _TRANSFORMS + "ReplaceField$Value",
    "transforms.rename.renames": "line:text",
    "transforms.mask.type": _TRANSFORMS + "MaskField$Value",
    "transforms.mask.fields": "from",
}
_POM = Path(workers.__file__).with_name("pom.xml")
_RUNTIMES = {_IDLE: "process", _SPARK: "spark"}


def run(bench: Bench, wanted: Collection[str]) -> None:
    launcher, _ = bench.launchers
    with bench.broker(launcher, {}) as broker, bench.scratch() as folder:
        broker.start()
        _measure_start(bench, broker, folder)
        _measure_copies(bench, broker, folder)
        for row, runtime in _RUNTIMES.items():
            _measure_idle(bench, broker, folder, row, runtime)


def _measure_start(bench: Bench, broker: Broker, folder: Path) -> None:
    for _ in bench.repetitions:
        for side in (OURS, THEIRS):
            bench.settle()
            began = time.monotonic()
            with started(side, _class_path(), broker, folder, {}) as worker:
                sample = {"time": time.monotonic() - began, "cpu": worker.cpu_seconds()}
                time.sleep(_IDLE_S)
                bench.record(_START, side, {**sample, "pss": worker.pss_mib()})


def _measure_copies(bench: Bench, broker: Broker, folder: Path) -> None:
    lines = bench.scaled(_LINES, at_least=20_000)
    text = folder / "text"
    _write(text, lines)
    with ExitStack() as stack:
        workers = [
            stack.enter_context(started(side, _class_path(), broker, folder, {}))
            for side in (OURS, THEIRS)
        ]
        copies = _Copies(broker, folder, text, lines)
        for worker in workers:
            for number in range(_WARM_UP_ROUNDS):
                bench.say(f"warming {worker.name} up, {number + 1} of {_WARM_UP_ROUNDS}")
                copies.there_and_back(worker, {})
                copies.source(worker, admin.fresh_name("warm"), _CHAIN)
        for _ in bench.repetitions:
            for worker in workers:
                bench.settle()
                bench.record(_CREATE, worker.name, {"time": _create_ms(worker, folder)})
                there, back = copies.there_and_back(worker, {})
                bench.record(_SOURCE, worker.name, there)
                bench.record(_SINK, worker.name, back)
                through = copies.source(worker, admin.fresh_name("json"), _CHAIN)
                bench.record(_JSON, worker.name, through)


class _Copies:
    """Lines of a file on their way into topics and back."""

    def __init__(self, broker: Broker, folder: Path, text: Path, lines: int) -> None:
        self._broker = broker
        self._folder = folder
        self._text = text
        self._lines = lines

    def there_and_back(
        self, worker: Worker, more: Mapping[str, str]
    ) -> tuple[dict[str, float], dict[str, float]]:
        topic = admin.fresh_name("text")
        return self.source(worker, topic, more), self.sink(worker, topic)

    def source(self, worker: Worker, topic: str, more: Mapping[str, str]) -> dict[str, float]:
        admin.create_topics(self._broker, [topic])
        reader = Consumer({"bootstrap.servers": self._broker.bootstrap, "group.id": "ends"})

        def is_whole() -> bool:
            worker.runs(topic)  # it says if the connector has failed
            ends = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=30)
            return bool(ends is not None and ends[1] >= self._lines)

        config = {
            "connector.class": _FILE_SOURCE,
            "file": str(self._text),
            "topic": topic,
            "producer.override.batch.size": "262144",
            "producer.override.linger.ms": "5",
            **more,
        }
        try:
            return self._timed(worker, topic, config, is_whole)
        finally:
            reader.close()

    def sink(self, worker: Worker, topic: str) -> dict[str, float]:
        out = self._folder / f"{topic}.out"
        size = self._text.stat().st_size
        config = {
            "connector.class": _FILE_SINK,
            "file": str(out),
            "topics": topic,
            "consumer.override.auto.offset.reset": "earliest",
        }

        def is_whole() -> bool:
            return out.exists() and out.stat().st_size >= size

        sample = self._timed(worker, f"{topic}-sink", config, is_whole)
        if out.read_bytes() != self._text.read_bytes():
            raise BenchmarkError(f"{worker.name} has written other lines than it was given")
        out.unlink()
        return sample

    def _timed(
        self, worker: Worker, name: str, config: Mapping[str, str], is_whole: Callable[[], bool]
    ) -> dict[str, float]:
        """CPU until the copy is whole; the rate counts from the moment the task runs."""
        cpu = worker.cpu_seconds()
        worker.create(name, config)
        worker.until(lambda: worker.runs(name), f"task of {name}")
        seconds = worker.until(is_whole, f"end of {name}")
        cpu = worker.cpu_seconds() - cpu
        worker.delete(name)
        return {"cpu": cpu / self._lines * 1e6, "records": self._lines / max(seconds, 0.02)}


def _create_ms(worker: Worker, folder: Path) -> float:
    name = admin.fresh_name("idle")
    began = time.monotonic()
    worker.create(name, _idle(name, folder))
    worker.until(lambda: worker.runs(name), f"task of {name}")
    elapsed = time.monotonic() - began
    worker.delete(name)
    return elapsed * 1000


def _measure_idle(bench: Bench, broker: Broker, folder: Path, row: Row, runtime: str) -> None:
    for side in (OURS, THEIRS):
        own = {"headrace.runtime": runtime} if side == OURS else {}
        with started(side, _class_path(), broker, folder, own) as worker:
            names = [admin.fresh_name("idle") for _ in range(_IDLE_CONNECTORS)]
            for name in names:
                worker.create(name, _idle(name, folder))
            for name in names:
                worker.until(lambda name=name: worker.runs(name), f"task of {name}")  # type: ignore[misc]
            time.sleep(_IDLE_S)
            cpu = worker.cpu_seconds()
            time.sleep(_IDLE_S)
            share = (worker.cpu_seconds() - cpu) / _IDLE_S * 100
            bench.record(row, side, {"pss": worker.pss_mib(), "cpu": share})


def _idle(name: str, folder: Path) -> dict[str, str]:
    """A source whose file never comes."""
    missing = folder / f"{name}.missing"
    return {"connector.class": _FILE_SOURCE, "file": str(missing), "topic": name}


def _write(path: Path, lines: int) -> None:
    with path.open("w") as file:
        for number in range(lines):
            file.write(f"{number:010d}".ljust(_LINE_BYTES - 1, "x") + "\n")


def _class_path() -> str:
    what = f"the FileStream connectors of Apache Kafka {jars.VERSION}"
    files = jars.fetched(f"connect-{jars.VERSION}", _POM, what, f"-Dkafka.version={jars.VERSION}")
    return f"{jars.class_path(jars.VERSION)}:{files}/*"


SCENARIO = Scenario((_START, _CREATE, _SOURCE, _JSON, _SINK, _IDLE, _SPARK), run)
