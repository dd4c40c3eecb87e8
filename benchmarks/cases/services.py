"""registry: start, listing and lookup with 10,000 subjects of five versions each.
rest: Avro records through REST Proxy, beside the same records from confluent-kafka.
platform: the memory of broker, registry and REST Proxy together.

The other side of a ratio is what the work costs without the service: a bare Starlette route, a
producer of one's own, the memory that we allow ourselves.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from confluent_kafka import Producer

from benchmarks import admin, processes
from benchmarks.bench import Bench, Scenario
from benchmarks.brokers import Broker, free_port, port_is_free
from benchmarks.errors import BenchmarkError
from benchmarks.table import OURS, THEIRS, Metric, Row, at_least, at_most

FILLED = Row(
    "registry",
    "10,000 subjects of 5 versions",
    (
        Metric("start", "s"),
        Metric("list", "ms"),
        Metric("look up", "ms"),
        Metric("rss", "MiB"),
    ),
)
LOOKUP = Row(
    "registry",
    "by id, beside a bare route",
    (Metric("requests", "1/s", at_least(0.6)), Metric("p99", "ms")),
)
PRODUCE = Row(
    "rest",
    "Avro, 50 connections, beside a producer",
    (Metric("p50", "ms", at_most(4.0)), Metric("p99", "ms"), Metric("records", "1/s")),
)
PLATFORM = Row("platform", "idle, beside 150 MB", (Metric("rss", "MB", at_most(1.0)),))

_SUBJECTS = 10_000
_VERSIONS = 5
_HOST = "127.0.0.1"
_LOAD_S = 8.0
_LOOKUP_CONNECTIONS = 8
_REST_CONNECTIONS = 50
_START_TIMEOUT_S = 120
_BUDGET_MB = 150.0
_IDLE_S = 5.0
_PAYMENT = {
    "type": "record",
    "name": "Payment",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "customer", "type": "string"},
        {"name": "amount", "type": "double"},
        {"name": "approved", "type": "boolean"},
    ],
}


def run(bench: Bench, wanted: Collection[str]) -> None:
    launcher, _ = bench.launchers
    if "platform" in wanted:
        _measure_memory(bench)
    if not {"registry", "rest"} & set(wanted):
        return
    with bench.broker(launcher, {}) as broker:
        broker.start()
        if "registry" in wanted:
            _measure_registry(bench, broker)
    with bench.broker(launcher, {}) as broker:
        broker.start()
        if "rest" in wanted:
            _measure_rest(bench, broker)


def _measure_registry(bench: Bench, broker: Broker) -> None:
    subjects = bench.scaled(_SUBJECTS, at_least=1_000)
    bench.say(f"writing {subjects * _VERSIONS:,} schemas into _schemas")
    _fill_schemas(broker, subjects)
    ids = [{"method": "GET", "path": f"/schemas/ids/{_any_id(subjects)}"} for _ in range(5_000)]
    for _ in bench.repetitions:
        began = time.monotonic()
        with _registry(broker) as (port, process):
            start = time.monotonic() - began
            listing = _seconds(port, "GET", "/subjects", expected=subjects)
            look_up = _seconds(port, "POST", "/subjects/subject-77-value", _schema(77, 3))
            rss = processes.rss_mib(process.pid)
            filled = {"start": start, "list": listing * 1000, "look up": look_up * 1000, "rss": rss}
            bench.record(FILLED, OURS, filled)
            bench.record(LOOKUP, OURS, _lookup_sample(_load(port, _LOOKUP_CONNECTIONS, ids)))
            size = len(_get(port, ids[0]["path"]))
        with _bare_route(size) as port:
            bench.record(LOOKUP, THEIRS, _lookup_sample(_load(port, _LOOKUP_CONNECTIONS, ids)))


def _measure_rest(bench: Bench, broker: Broker) -> None:
    records = [_payment(number) for number in range(1_000)]
    topic = admin.fresh_name("payments")
    admin.create_topics(broker, [topic], partitions=6)
    with _registry(broker) as (registry_port, _):
        url = f"http://{_HOST}:{registry_port}"
        settings = {"bootstrap.servers": broker.bootstrap, "schema.registry.url": url}
        with _service("rest", settings) as (port, _):
            body = {"schema": json.dumps(_PAYMENT)}
            _post(registry_port, f"/subjects/{topic}-value/versions", body)
            schema_id = json.loads(_get(registry_port, f"/subjects/{topic}-value/versions/1"))["id"]
            requests = [
                {
                    "method": "POST",
                    "path": f"/topics/{topic}",
                    "type": "application/vnd.kafka.avro.v2+json",
                    "body": json.dumps(
                        {"value_schema_id": schema_id, "records": [{"value": each}]}
                    ),
                }
                for each in records
            ]
            for _ in bench.repetitions:
                bench.settle()
                bench.record(PRODUCE, OURS, _rest_sample(_load(port, _REST_CONNECTIONS, requests)))
                bench.settle()
                bench.record(PRODUCE, THEIRS, _rest_sample(_direct(broker, url, topic, records)))


def _measure_memory(bench: Bench) -> None:
    """All three as `headrace up` starts them; pages that processes share count in each of them."""
    for _ in bench.repetitions:
        ports = [free_port() for _ in range(3)]
        with bench.scratch() as folder:
            words = ["up", "--only", "broker,registry,rest", "--data", str(folder)]
            words += ["--port", str(ports[0])]
            more = ["--registry-port", str(ports[1]), "--rest-port", str(ports[2])]
            command = [sys.executable, "-m", "headrace", *words, *more]
            with _process(command, ports) as process:
                time.sleep(_IDLE_S)
                megabytes = processes.rss_mib(process.pid) * 1.048576
                bench.record(PLATFORM, OURS, {"rss": megabytes})
                bench.record(PLATFORM, THEIRS, {"rss": _BUDGET_MB})


def _fill_schemas(broker: Broker, subjects: int) -> None:
    """As a registry would have left it: each version a schema of its own, ids in a row."""
    admin.create_topics(broker, ["_schemas"], config={"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 20})
    for number in range(subjects):
        subject = f"subject-{number}-value"
        for version in range(1, _VERSIONS + 1):
            key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
            value = {
                "subject": subject,
                "version": version,
                "id": number * _VERSIONS + version,
                "schema": _schema(number, version)["schema"],
                "deleted": False,
            }
            producer.produce("_schemas", _compact(value), _compact(key), 0)
        producer.poll(0)
    if producer.flush(60):
        raise BenchmarkError("the schemas were not written within a minute: run again")


def _schema(number: int, version: int) -> dict[str, str]:
    fields = [
        {"name": f"field{each}", "type": ["null", "string"], "default": None}
        for each in range(version)
    ]
    return {"schema": _compact({"type": "record", "name": f"Record{number}", "fields": fields})}


def _any_id(subjects: int) -> int:
    return random.randrange(1, subjects * _VERSIONS + 1)


def _payment(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "customer": f"customer {number % 97}",
        "amount": number / 7,
        "approved": number % 3 == 0,
    }


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _lookup_sample(told: dict[str, float]) -> dict[str, float]:
    return {"requests": told["requests"] / told["seconds"], "p99": told["p99_ms"]}


def _rest_sample(told: dict[str, float]) -> dict[str, float]:
    rate = told["requests"] / told["seconds"]
    return {"p50": told["p50_ms"], "p99": told["p99_ms"], "records": rate}


def _load(port: int, connections: int, requests: Sequence[dict[str, str]]) -> dict[str, float]:
    words = ["benchmarks.http.load", _HOST, str(port), str(connections), str(_LOAD_S)]
    return _ask(words, "\n".join(map(json.dumps, requests)))


def _direct(
    broker: Broker, url: str, topic: str, records: Sequence[dict[str, Any]]
) -> dict[str, float]:
    words = ["benchmarks.http.direct", broker.bootstrap, url, topic, str(_REST_CONNECTIONS)]
    lines = [json.dumps(_PAYMENT), *map(json.dumps, records)]
    return _ask([*words, str(_LOAD_S)], "\n".join(lines))


def _ask(words: Sequence[str], told: str) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", *words], input=told, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise BenchmarkError(f"{words[0]} failed: {done.stderr[-2000:]}")
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


@contextmanager
def _registry(broker: Broker) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    settings = {"kafkastore.bootstrap.servers": broker.bootstrap}
    with _service("registry", settings) as running:
        yield running


@contextmanager
def _service(name: str, settings: dict[str, str]) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    port = free_port()
    settings = {"listeners": f"http://{_HOST}:{port}", **settings}
    pairs = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    with _process([sys.executable, "-m", f"headrace.{name}", *pairs], [port]) as process:
        yield port, process


@contextmanager
def _bare_route(size: int) -> Iterator[int]:
    port = free_port()
    with _process([sys.executable, "-m", "benchmarks.http.bare", str(port), str(size)], [port]):
        yield port


@contextmanager
def _process(command: Sequence[str], ports: Sequence[int]) -> Iterator[subprocess.Popen[bytes]]:
    """Running, and listening on all these ports."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while any(port_is_free(port) for port in ports):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BenchmarkError(f"{' '.join(command[:4])} does not listen on {ports}")
            time.sleep(0.01)
        yield process
    finally:
        processes.end_group(process)


def _seconds(
    port: int, method: str, path: str, body: object = None, *, expected: int | None = None
) -> float:
    began = time.monotonic()
    answer = _request(port, method, path, body)
    seconds = time.monotonic() - began
    if expected is not None and len(json.loads(answer)) != expected:
        raise BenchmarkError(f"{path} gave {len(json.loads(answer))} entries, not {expected}")
    return seconds


def _get(port: int, path: str) -> bytes:
    return _request(port, "GET", path, None)


def _post(port: int, path: str, body: object) -> bytes:
    return _request(port, "POST", path, body)


def _request(port: int, method: str, path: str, body: object) -> bytes:
    connection = HTTPConnection(_HOST, port, timeout=60)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise BenchmarkError(f"{method} {path} gave {response.status}: {answer[:500]!r}")
    return answer


SCENARIO = Scenario((FILLED, LOOKUP, PRODUCE, PLATFORM), run)
