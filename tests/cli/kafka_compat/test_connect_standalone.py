"""`connect-standalone` with the files of books and quick starts, as they are."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.platform_process import headrace_up

PATIENCE_S = 120


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, str]]:
    with headrace_up("broker", "registry") as found:
        yield found


@pytest.fixture
def worker(addresses: dict[str, str], tmp_path: Path) -> Path:
    """connect-avro-standalone.properties, with addresses and a folder of the test's own."""
    file = tmp_path / "connect-avro-standalone.properties"
    file.write_text(
        f"""\
bootstrap.servers={addresses["broker"]}
key.converter=io.confluent.connect.avro.AvroConverter
key.converter.schema.registry.url={addresses["registry"]}
value.converter=io.confluent.connect.avro.AvroConverter
value.converter.schema.registry.url={addresses["registry"]}
internal.key.converter=org.apache.kafka.connect.json.JsonConverter
internal.value.converter=org.apache.kafka.connect.json.JsonConverter
internal.key.converter.schemas.enable=false
internal.value.converter.schemas.enable=false
offset.storage.file.filename={tmp_path}/connect.offsets
offset.flush.interval.ms=500
plugin.path=share/java
listeners=http://127.0.0.1:0
"""
    )
    return file


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "headrace.cli.kafka_compat", *map(str, words)]


@contextmanager
def standalone(*files: Path) -> Iterator[list[str]]:
    """The lines that a worker prints, while it runs; it must end as a signal ends it."""
    lines: list[str] = []
    with subprocess.Popen(
        command("connect-standalone", *files),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=files[0].parent,
    ) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=lambda out: lines.extend(out), args=(process.stdout,))
        reader.start()
        try:
            yield lines
        finally:
            process.terminate()
            code = process.wait(PATIENCE_S)
            reader.join()
    assert code == 128 + 15, lines


def consumed(addresses: dict[str, str], topic: str, count: int) -> list[str]:
    """What the console consumer prints of a topic; it waits for so many messages."""
    words = ["--new-consumer", "--bootstrap-server", addresses["broker"], "--topic", topic]
    words += ["--from-beginning", "--max-messages", str(count), "--timeout-ms", "90000"]
    words += ["--property", f"schema.registry.url={addresses['registry']}"]
    words += ["--consumer-property", "topic.metadata.refresh.interval.ms=200"]
    done = subprocess.run(
        command("kafka-avro-console-consumer", *words),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.spec("book2:A4-01", "book2:A4-02", "book2:A4-03", "book2:A4-04", "book2:A4-05")
@pytest.mark.spec("book2:A4-06", "book2:A4-07", "book2:A4-09")
@pytest.mark.spec(
    "book2:C-02", "book2:C-04", "book2:C-07", "book2:C-10", "book2:C-13", "book2:C-14", "book2:C-17"
)
def test_a_table_becomes_a_topic(addresses: dict[str, str], worker: Path, tmp_path: Path) -> None:
    """New rows follow, and a second worker sends none of the old ones again."""
    prefix = f"test-{uuid.uuid4().hex[:8]}-"
    with sqlite3.connect(tmp_path / "packt.db") as database:
        database.execute(
            "CREATE TABLE authors(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name VARCHAR(255))"
        )
        database.execute("INSERT INTO authors(name) VALUES('Manish')")
        database.execute("INSERT INTO authors(name) VALUES('Chanchal')")
    source = tmp_path / "source-quickstart-sqlite.properties"
    source.write_text(
        "name=jdbc-test\n"
        "connector.class=io.confluent.connect.jdbc.JdbcSourceConnector\n"
        "tasks.max=1\n"
        f"connection.url=jdbc:sqlite:{tmp_path}/packt.db\n"
        "mode=incrementing\n"
        "incrementing.column.name=id\n"
        f"topic.prefix={prefix}\n"
        "poll.interval.ms=200\n"
    )
    expected = ['{"id":1,"name":{"string":"Manish"}}', '{"id":2,"name":{"string":"Chanchal"}}']
    with standalone(worker, source):
        assert consumed(addresses, f"{prefix}authors", 2) == expected
    with sqlite3.connect(tmp_path / "packt.db") as database:
        database.execute("INSERT INTO authors(name) VALUES(NULL)")
    with standalone(worker, source):
        assert consumed(addresses, f"{prefix}authors", 3) == [*expected, '{"id":3,"name":null}']


@pytest.mark.spec("book2:B-02", "book2:C-03", "book2:H-06", "book2:H-07")
def test_settings_alone_make_a_pipeline(worker: Path, tmp_path: Path) -> None:
    """A file of one property file's becomes a topic, and by another one a folder of a lake."""
    topic = f"logs-{uuid.uuid4().hex[:8]}"
    (tmp_path / "server.log").write_text("started\nstopped\n")
    text = "org.apache.kafka.connect.storage.StringConverter"
    common = f"key.converter={text}\nvalue.converter={text}\n"
    into, out = tmp_path / "source.properties", tmp_path / "sink.properties"
    into.write_text(
        f"name=logs\nconnector.class=FileStreamSource\nfile={tmp_path}/server.log\n"
        f"topic={topic}\n{common}"
    )
    out.write_text(
        f"name=lake\nconnector.class=lake\ntopics={topic}\nstore.url={tmp_path}/lake\n"
        f"format.class=json\nflush.size=2\n{common}"
    )
    folder = tmp_path / "lake" / "topics" / topic
    with standalone(worker, into, out) as said:
        end = time.monotonic() + PATIENCE_S
        while not list(folder.rglob("*.json")):
            assert time.monotonic() < end, said
            time.sleep(0.05)
    (file,) = folder.rglob("*.json")
    assert file.read_text() == '"started"\n"stopped"\n'


@pytest.mark.spec("book2:A5-01", "book2:A5-02", "book2:A5-03", "book2:A5-04", "book2:A5-05")
@pytest.mark.spec("book2:A5-06", "book2:A5-07")
@pytest.mark.spec("book2:C-18", "book2:H-03")
def test_a_topic_becomes_a_table(addresses: dict[str, str], worker: Path, tmp_path: Path) -> None:
    """The table is created from the schema, its columns in the order that Java's hash gives."""
    schema = (
        '{"type":"record","name":"authors","fields":[{"name":"id","type":"int"},'
        '{"name":"author_name","type":"string"},{"name":"age","type":"int"},'
        '{"name":"popularity_percentage","type":"float"}]}'
    )
    words = ["--broker-list", addresses["broker"], "--topic", "authors_sink"]
    words += ["--property", f"value.schema={schema}"]
    words += ["--property", f"schema.registry.url={addresses['registry']}"]
    records = (
        '{"id":1,"author_name":"Chanchal","age":26,"popularity_percentage":60}\n'
        '{"id":2,"author_name":"Manish","age":32,"popularity_percentage":80}\n'
    )
    done = subprocess.run(
        command("kafka-avro-console-producer", *words),
        input=records,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    sink = tmp_path / "sink-quickstart-sqlite.properties"
    sink.write_text(
        "name=test-jdbc-sink\n"
        "connector.class=io.confluent.connect.jdbc.JdbcSinkConnector\n"
        "tasks.max=1\n"
        "topics=authors_sink\n"
        "connection.url=jdbc:sqlite:packt_authors.db\n"
        "auto.create=true\n"
    )
    with standalone(worker, sink) as lines:
        assert rows_of(tmp_path / "packt_authors.db", 2) == [
            "Chanchal|60.0|1|26",
            "Manish|80.0|2|32",
        ], lines


def rows_of(path: Path, count: int) -> list[str]:
    """`select * from authors_sink`, once it has so many rows."""
    waiting = threading.Event()
    for _ in range(PATIENCE_S * 10):
        try:
            with sqlite3.connect(path) as database:
                found = database.execute("SELECT * FROM authors_sink").fetchall()
        except sqlite3.OperationalError:
            found = []  # there is no such table yet
        if len(found) >= count:
            return ["|".join(map(str, row)) for row in found]
        waiting.wait(0.1)
    raise AssertionError(f"{path} has {len(found)} rows")


@pytest.mark.parametrize(
    ("worker_text", "connector_text", "code", "told"),
    [
        ("key.converter=x\n", None, 1, 'Missing required configuration "bootstrap.servers"'),
        (None, "name=x\nconnector.class=FileStreamSauce\n", 3, "FileStreamSourceConnector"),
        (None, "name=x\n", 3, "contains no connector type"),
    ],
)
def test_what_cannot_run_says_why(
    worker: Path,
    tmp_path: Path,
    worker_text: str | None,
    connector_text: str | None,
    code: int,
    told: str,
) -> None:
    files = [worker]
    if worker_text is not None:
        worker.write_text(worker_text)
    if connector_text is not None:
        files.append(tmp_path / "connector.properties")
        files[-1].write_text(connector_text)
    done = subprocess.run(
        command("connect-standalone", *files),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
