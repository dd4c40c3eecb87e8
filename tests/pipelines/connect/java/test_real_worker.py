"""The same settings for Apache Kafka's own worker and for ours: the same topics and files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.pipelines.connect.java.found import PATH
from headrace.pipelines.connect.state import offsets_file
from tests.kafka.apache_kafka import java_command
from tests.kafka.toolchain import spawn, stop
from tests.pipelines.connect.java.jars import file_stream
from tests.pipelines.connect.java.test_file_stream import SHAPED, SINK, SOURCE
from tests.pipelines.connect.worker.running import STRINGS, Worker, messages
from tests.pipelines.connect.worker.test_file_stream import until_holds

Start = Callable[..., Worker]
START_S = 300

pytestmark = [pytest.mark.thorough, pytest.mark.timeout(600)]


@contextmanager
def real_worker(
    classpath: str, bootstrap: str, folder: Path, *connectors: Mapping[str, str]
) -> Iterator[None]:
    """Apache Kafka's standalone worker, from when its sink has opened real.txt."""
    settings = {
        "bootstrap.servers": bootstrap,
        "key.converter": STRINGS,
        "value.converter": STRINGS,
        "offset.storage.file.filename": str(folder / "real.offsets"),
        "offset.flush.interval.ms": "100",
        "listeners": "http://127.0.0.1:0",
        PATH: str(file_stream()),
    }
    files = []
    for number, each in enumerate((settings, *connectors)):
        files.append(folder / f"real-{number}.properties")
        files[-1].write_text("".join(f"{key}={value}\n" for key, value in each.items()))
    main = "org.apache.kafka.connect.cli.ConnectStandalone"
    with (folder / "real.log").open("wb") as log:
        process = spawn(java_command(classpath, main, *files), stdout=log, stderr=log)
    try:
        end = time.monotonic() + START_S
        while not (folder / "real.txt").exists():
            assert process.poll() is None, (folder / "real.log").read_text()[-3000:]
            assert time.monotonic() < end, (folder / "real.log").read_text()[-3000:]
            time.sleep(0.1)
        yield
    finally:
        stop(process)


def test_the_same_records_and_the_same_files(
    start: Start, kafka_classpath: str, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    lines = [f'line {number} \u00fc \\ "' for number in range(3000)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    shaped = SOURCE | SHAPED | {"file": str(tmp_path / "in.txt")}
    plain = SINK | {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    real = [
        shaped | {"topic": f"{topic}-real"},
        plain | {"topics": f"{topic}-real", "file": str(tmp_path / "real.txt")},
    ]
    for each in real:
        each["connector.class"] = each["connector.class"].removeprefix("java:")
    with real_worker(kafka_classpath, bootstrap, tmp_path, *real):
        theirs = messages(bootstrap, f"{topic}-real", len(lines))
        values = b"".join((each.value() or b"") + b"\n" for each in theirs)
        until_holds(tmp_path / "real.txt", values)
    worker = start(
        shaped | {"topic": topic},
        plain | {"topics": topic, "file": str(tmp_path / "ours.txt")},
    )
    ours = messages(bootstrap, topic, len(lines))
    assert [(each.key(), each.value(), each.headers()) for each in ours] == [
        (each.key(), each.value(), each.headers()) for each in theirs
    ]
    until_holds(tmp_path / "ours.txt", values)
    worker.stop()
    kept = [
        offsets_file.decode((tmp_path / name).read_bytes()) for name in ("real.offsets", "offsets")
    ]
    assert kept[0] == kept[1]
