"""Files through topics, by a standalone worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.admin.client import Admin
from headrace.client.settings import client_settings
from headrace.pipelines.connect.faults import BadRequestException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.state import offsets_file
from tests.pipelines.connect.worker.running import PATIENCE_S, Worker, messages, values, write

SOURCE = {"connector.class": "FileStreamSource", "name": "in", "tasks.max": "1"}
SINK = {"connector.class": "FileStreamSink", "name": "out", "tasks.max": "1"}
Start = Callable[..., Worker]


def until_holds(path: Path, content: bytes) -> None:
    """Wait for a file to hold this and nothing else."""
    end = time.monotonic() + PATIENCE_S
    while not path.exists() or path.read_bytes() != content:
        assert time.monotonic() < end, path.read_bytes()[-200:] if path.exists() else "no file"
        time.sleep(0.02)


@pytest.mark.spec(
    "slides:H01", "admin:CN-01", "admin:CN-02", "book2:B-11", "book2:C-01", "book2:D-07"
)
def test_a_file_is_copied_through_a_topic(start: Start, tmp_path: Path, topic: str) -> None:
    lines = b"".join(b"line %d \xc3\xbc\n" % number for number in range(5000))
    (tmp_path / "in.txt").write_bytes(lines)
    start(
        SOURCE | {"file": str(tmp_path / "in.txt"), "topic": topic},
        SINK | {"file": str(tmp_path / "out.txt"), "topics": topic},
    )
    until_holds(tmp_path / "out.txt", lines)


def test_a_second_worker_goes_on_where_the_first_stopped(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """Lines that have not ended wait; what was sent is not sent again."""
    path = tmp_path / "in.txt"
    path.write_bytes(b"one\ntwo\r\nthr")
    config = SOURCE | {"file": str(path), "topic": topic}
    first = start(config)
    assert values(bootstrap, topic, 2) == [b"one", b"two"]
    first.stop()
    kept = offsets_file.decode((tmp_path / "offsets").read_bytes())
    assert kept == {b'["in",{"filename":"%s"}]' % str(path).encode(): b'{"position":9}'}
    with path.open("ab") as file:
        file.write(b"ee\nfour\n")
    start(config)
    assert values(bootstrap, topic, 4) == [b"one", b"two", b"three", b"four"]


def test_a_sink_commits_what_it_has_flushed(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    write(bootstrap, topic, b"a", b"b")
    out = tmp_path / "out.txt"
    config = SINK | {"file": str(out), "topics": topic}
    first = start(config)
    until_holds(out, b"a\nb\n")
    first.stop()
    write(bootstrap, topic, b"c", None)
    start(config)
    until_holds(out, b"a\nb\nc\nnull\n")


@pytest.mark.spec("book2:C-11")
def test_two_tasks_of_a_sink_share_a_topic(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """Each record is written once, whoever has its partition."""
    write(bootstrap, topic, *(b"%d" % number for number in range(100)))
    out = tmp_path / "out.txt"
    start(SINK | {"file": str(out), "topics": topic, "tasks.max": "2"})
    end = time.monotonic() + PATIENCE_S
    while not out.exists() or len(out.read_bytes().splitlines()) < 100:
        assert time.monotonic() < end
        time.sleep(0.02)
    assert sorted(map(int, out.read_bytes().split())) == list(range(100))


@pytest.mark.spec("admin:CN-07", "book2:C-09")
def test_transforms_and_json(start: Start, bootstrap: str, tmp_path: Path, topic: str) -> None:
    (tmp_path / "in.txt").write_bytes(b"hello\n")
    start(
        SOURCE
        | {
            "file": str(tmp_path / "in.txt"),
            "topic": "elsewhere",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "transforms": "hoist,from,route",
            "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
            "transforms.hoist.field": "line",
            "transforms.from.type": "org.apache.kafka.connect.transforms.InsertField$Value",
            "transforms.from.static.field": "source",
            "transforms.from.static.value": "file",
            "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.route.regex": ".*",
            "transforms.route.replacement": topic,
        }
    )
    assert values(bootstrap, topic, 1) == [b'{"line":"hello","source":"file"}']


def test_a_function_in_a_file_is_a_transform(
    start: Start,
    bootstrap: str,
    tmp_path: Path,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "shouting.py").write_text(
        "from headrace.connect import transform\n"
        "@transform('acme.Shout')\n"
        "def shout(record, mark: str = '!'):\n"
        "    return record.but(value=record.value.upper() + mark)\n"
    )
    (tmp_path / "in.txt").write_bytes(b"hello\n")
    start(
        SOURCE
        | {
            "file": str(tmp_path / "in.txt"),
            "topic": topic,
            "transforms": "loud",
            "transforms.loud.type": "shouting.py:shout",
            "transforms.loud.mark": "?",
        }
    )
    assert values(bootstrap, topic, 1) == [b"HELLO?"]


def json_sink(topic: str, out: Path, **more: str) -> dict[str, str]:
    return SINK | {
        "file": str(out),
        "topics": topic,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def test_a_poison_record_ends_its_task_and_no_other(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    write(bootstrap, topic, b'{"a":1}', b"not json", b'{"a":2}')
    (tmp_path / "in.txt").write_bytes(b"still here\n")
    other = SOURCE | {"file": str(tmp_path / "in.txt"), "topic": f"{topic}-other"}
    worker = start(json_sink(topic, tmp_path / "out.txt"), other)
    trace = worker.until_failed(TaskId("out", 0))
    assert "Tolerance exceeded in error handler" in trace
    assert f"VALUE_CONVERTER by org.apache.kafka.connect.json.JsonConverter of {topic}-0" in trace
    assert "at offset 1" in trace
    assert values(bootstrap, f"{topic}-other", 1) == [b"still here"]


def test_poison_records_go_to_the_dead_letter_queue(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """As they were, with the reasons in headers; the others go on in their order."""
    write(bootstrap, topic, b'{"a":1}', b"not json", b'{"a":2}', key=b"k", headers=[("h", b"v")])
    letters = f"{topic}-dlq"
    start(
        json_sink(topic, tmp_path / "out.txt")
        | {
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.context.headers.enable": "true",
        }
    )
    until_holds(tmp_path / "out.txt", b"{a=1}\n{a=2}\n")
    (letter,) = messages(bootstrap, letters, 1)
    assert (letter.key(), letter.value()) == (b"k", b"not json")
    headers = dict(letter.headers() or [])
    assert headers["h"] == b"v"
    told = {
        name.removeprefix("__connect.errors."): value.decode()
        for name, value in headers.items()
        if name.startswith("__connect.errors.") and isinstance(value, bytes)
    }
    assert told.pop("exception.message")
    assert told.pop("exception.stacktrace")
    assert told == {
        "topic": topic,
        "partition": "0",
        "offset": "1",
        "connector.name": "out",
        "task.id": "0",
        "stage": "VALUE_CONVERTER",
        "class.name": "org.apache.kafka.connect.json.JsonConverter",
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
    }


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"name": "x"}, "contains no connector type"),
        ({"name": "x", "connector.class": "FileStreamSauce"}, "Did you mean .*FileStreamSourceC"),
        (SOURCE | {"file": "f"}, 'Missing required configuration "topic"'),
        (SOURCE | {"topic": "t", "batch.size": "0"}, "Value must be at least 1"),
        (SOURCE | {"topic": "t", "tasks.max": "many"}, "Not a number of type INT"),
        ({"connector.class": "FileStreamSource"}, 'Missing required configuration "name"'),
    ],
)
def test_what_cannot_be_is_rejected_with_the_reason(
    start: Start, config: dict[str, str], told: str
) -> None:
    with pytest.raises(Exception, match=told.replace("(", r"\(")):
        start(config)


def test_everything_that_is_wrong_is_told_at_once(start: Start) -> None:
    with pytest.raises(BadRequestException, match=r"3 error\(s\)") as told:
        start(SOURCE | {"batch.size": "0", "errors.tolerance": "some"})
    assert "batch.size" in str(told.value)
    assert '"topic"' in str(told.value)
    assert "errors.tolerance" in str(told.value)


def test_secrets_come_from_files(start: Start, bootstrap: str, tmp_path: Path, topic: str) -> None:
    """`${file:…}` in a connector's settings is replaced before it runs."""
    (tmp_path / "in.txt").write_bytes(b"line\n")
    (tmp_path / "secrets.properties").write_text(f"where={topic}\n")
    start(
        SOURCE
        | {
            "file": str(tmp_path / "in.txt"),
            "topic": f"${{file:{tmp_path}/secrets.properties:where}}",
        },
        **{
            "config.providers": "file",
            "config.providers.file.class": (
                "org.apache.kafka.common.config.provider.FileConfigProvider"
            ),
        },
    )
    assert values(bootstrap, topic, 1) == [b"line"]


def test_topics_are_created_as_the_connector_says(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    (tmp_path / "in.txt").write_bytes(b"line\n")
    start(
        SOURCE
        | {
            "file": str(tmp_path / "in.txt"),
            "topic": topic,
            "topic.creation.default.partitions": "3",
            "topic.creation.default.replication.factor": "1",
            "topic.creation.default.cleanup.policy": "compact",
            "transforms": "key",
            "transforms.key.type": "org.apache.kafka.connect.transforms.InsertHeader",
            "transforms.key.header": "from",
            "transforms.key.value.literal": "file",
        }
    )
    with Admin(client_settings({"bootstrap.servers": bootstrap})[0]) as admin:
        for _ in range(PATIENCE_S * 20):
            found = admin.cluster.topics([topic])
            if found:
                break
            time.sleep(0.05)
    assert len(found[topic].partitions) == 3
