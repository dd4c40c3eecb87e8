"""Kafka's own FileStream connectors in a JVM, beside those of the house on the same input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.pipelines.connect.faults import BadRequestException
from headrace.pipelines.connect.state import offsets_file
from tests.pipelines.connect.worker.running import Worker, messages, values, write
from tests.pipelines.connect.worker.test_file_stream import until_holds

FILE = "org.apache.kafka.connect.file.FileStream"
SOURCE = {"connector.class": f"java:{FILE}SourceConnector", "name": "in", "tasks.max": "1"}
SINK = {"connector.class": f"java:{FILE}SinkConnector", "name": "out", "tasks.max": "1"}
TRANSFORMS = "org.apache.kafka.connect.transforms."
SHAPED = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "transforms": "hoist,from,key,mark,tag",
    "transforms.hoist.type": f"{TRANSFORMS}HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.from.type": f"{TRANSFORMS}InsertField$Value",
    "transforms.from.static.field": "source",
    "transforms.from.static.value": "file",
    "transforms.key.type": f"{TRANSFORMS}ValueToKey",
    "transforms.key.fields": "source",
    "transforms.mark.type": f"{TRANSFORMS}ExtractField$Key",
    "transforms.mark.field": "source",
    "transforms.tag.type": f"{TRANSFORMS}InsertHeader",
    "transforms.tag.header": "seen",
    "transforms.tag.value.literal": "42",
    "transforms.tag.predicate": "here",
    "predicates": "here",
    "predicates.here.type": f"{TRANSFORMS}predicates.TopicNameMatches",
    "predicates.here.pattern": "t-.*",
}
Start = Callable[..., Worker]


def test_a_file_is_copied_through_a_topic(start: Start, tmp_path: Path, topic: str) -> None:
    lines = b"".join(b"line %d \xc3\xbc\n" % number for number in range(5000))
    (tmp_path / "in.txt").write_bytes(lines)
    start(
        SOURCE | {"file": str(tmp_path / "in.txt"), "topic": topic},
        SINK | {"file": str(tmp_path / "out.txt"), "topics": topic},
    )
    until_holds(tmp_path / "out.txt", lines)


def test_java_goes_on_where_python_stopped_and_back(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"one\ntwo\nthr")
    ours = {**SOURCE, "connector.class": f"{FILE}SourceConnector"}
    for config, more, seen in (
        (ours, b"ee\n", [b"one", b"two"]),
        (SOURCE, b"four\n", [b"one", b"two", b"three"]),
        (ours, b"", [b"one", b"two", b"three", b"four"]),
    ):
        worker = start(config | {"file": str(path), "topic": topic})
        assert values(bootstrap, topic, len(seen)) == seen
        worker.stop()
        with path.open("ab") as file:
            file.write(more)
    kept = offsets_file.decode((tmp_path / "offsets").read_bytes())
    assert kept == {b'["in",{"filename":"%s"}]' % str(path).encode(): b'{"position":19}'}


def test_converters_and_transforms_of_java_give_the_same_bytes(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    (tmp_path / "in.txt").write_bytes('hello\n"quoted" \u00fc\n\n'.encode())
    shaped = SOURCE | SHAPED | {"file": str(tmp_path / "in.txt")}
    ours = {**shaped, "connector.class": f"{FILE}SourceConnector", "name": "ours"}
    start(shaped | {"topic": topic}, ours | {"topic": f"{topic}-ours"})
    seen = [
        [(each.key(), each.value(), each.headers()) for each in messages(bootstrap, name, 3)]
        for name in (topic, f"{topic}-ours")
    ]
    assert seen[0] == seen[1]
    key, value, headers = seen[0][0]
    assert (key, headers) == (b"file", [("seen", b"42")])
    assert value is not None
    assert value.endswith(b'"payload":{"line":"hello","source":"file"}}')


def test_a_sink_converts_in_java(start: Start, bootstrap: str, tmp_path: Path, topic: str) -> None:
    """What the sink prints is Java's text of a map, and a null value is one."""
    write(bootstrap, topic, b'{"a":1,"b":[true,null]}', None, key=b"k", headers=[("h", b"1")])
    plain = {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    plain["value.converter.schemas.enable"] = "false"
    start(SINK | plain | {"file": str(tmp_path / "out.txt"), "topics": topic})
    until_holds(tmp_path / "out.txt", b"{a=1, b=[true, null]}\nnull\n")


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (SOURCE | {"file": "f"}, 'Missing required configuration "topic"'),
        (SOURCE | {"topic": "t", "batch.size": "few"}, "Not a number of type INT"),
        (SOURCE | {"topic": "t", "tasks.max": "many"}, "Not a number of type INT"),
        (SINK | {"file": "f"}, "Must configure one of topics or topics.regex"),
    ],
)
def test_what_cannot_be_is_rejected_with_the_reason(
    start: Start, config: dict[str, str], told: str
) -> None:
    with pytest.raises(BadRequestException, match=told):
        start(config)
