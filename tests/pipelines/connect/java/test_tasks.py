"""What Java tasks are told, and what becomes of them when they fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.pipelines.connect.config.definition import Password
from headrace.pipelines.connect.config.plugins import Role
from headrace.pipelines.connect.config.report import faults
from headrace.pipelines.connect.config.validate import validate
from headrace.pipelines.connect.faults import BadRequestException
from headrace.pipelines.connect.group.protocol import TaskId
from headrace.pipelines.connect.worker.catalogue import Catalogue
from tests.pipelines.connect.worker.running import PATIENCE_S, Worker, messages, write

NUMBERS = "acme.Acme$Numbers"
NOTES = "acme.Acme$Notes"
LONGS = "org.apache.kafka.connect.converters.LongConverter"
Start = Callable[..., Worker]


def until_noted(path: Path, *lines: str) -> list[str]:
    """Wait until a task has noted these lines, in this order; all that it has noted."""
    end = time.monotonic() + PATIENCE_S
    while True:
        noted = path.read_text().splitlines() if path.exists() else []
        left = iter(noted)
        if all(line in left for line in lines):
            return noted
        assert time.monotonic() < end, noted
        time.sleep(0.02)


def numbers(tmp_path: Path, topic: str, **more: str) -> dict[str, str]:
    return {
        "name": "numbers",
        "connector.class": NUMBERS,
        "topic": topic,
        "notes": str(tmp_path / "notes"),
        "value.converter": LONGS,
        **more,
    }


def notes(tmp_path: Path, topic: str, **more: str) -> dict[str, str]:
    return {
        "name": "notes",
        "connector.class": NOTES,
        "topics": topic,
        "notes": str(tmp_path / "notes"),
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def test_keys_timestamps_headers_and_acknowledgements(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """A task that may be tried again is; a second one begins where the first one ended."""
    first = start(numbers(tmp_path, topic, last="3", retry="2"))
    until_noted(tmp_path / "notes", "started at 0", *(f"acknowledged {n}" for n in range(4)))
    seen = sorted(messages(bootstrap, topic, 4), key=lambda each: each.timestamp()[1])
    assert [(each.key(), each.value(), each.timestamp()[1], each.headers()) for each in seen] == [
        (b"k%d" % (n % 3), n.to_bytes(8, "big"), 1_000_000 + n, [("parity", parity)])
        for n, parity in enumerate([b"even", b"odd", b"even", b"odd"])
    ]
    first.stop()
    start(numbers(tmp_path, topic, last="4"))
    noted = until_noted(tmp_path / "notes", "stopped", "started at 4", "acknowledged 4")
    assert noted.count("acknowledged 2") == 1
    assert len(messages(bootstrap, topic, 5)) == 5


def test_a_fault_ends_the_task_with_javas_trace(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    worker = start(numbers(tmp_path, topic, last="3", fail="2"))
    trace = worker.until_failed(TaskId("numbers", 0))
    assert "java.lang.IllegalStateException: out of numbers" in trace
    assert "at acme.Acme$NumbersTask.poll(Acme.java:" in trace
    assert len(messages(bootstrap, topic, 2)) == 2


def test_a_value_that_a_converter_does_not_take(start: Start, tmp_path: Path, topic: str) -> None:
    config = numbers(tmp_path, topic, last="1")
    config["value.converter"] = "org.apache.kafka.connect.converters.IntegerConverter"
    worker = start(config)
    trace = worker.until_failed(TaskId("numbers", 0))
    assert (
        "Tolerance exceeded in error handler: VALUE_CONVERTER by " + config["value.converter"]
        in trace
    )
    worker.stop()
    worker = start(config | {"errors.tolerance": "all", "name": "tolerant"})
    until_noted(tmp_path / "notes", "acknowledged 0", "acknowledged 1")


def test_a_sink_is_given_what_it_asks_for(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """The same records again after a RetriableException, earlier ones after a seek."""
    write(bootstrap, topic, b"again", b"back", key=b"k", headers=[("h", b"7")])
    start(notes(tmp_path, topic))
    noted = until_noted(tmp_path / "notes", *["k=again 7", "k=back 7"] * 2, "commit 2")
    assert noted.count("k=again 7") == 2


def test_records_that_a_sink_reports_are_dead_letters(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    """And those that its converter cannot read."""
    write(bootstrap, topic, b'"a"', b"not json", b'"bad"', b'"b"', key=b"k")
    letters = f"{topic}-dlq"
    config = notes(
        tmp_path,
        topic,
        errors_tolerance="all",
        value_converter="org.apache.kafka.connect.json.JsonConverter",
        value_converter_schemas_enable="false",
    )
    start(
        config
        | {
            "errors.deadletterqueue.topic.name": letters,
            "errors.deadletterqueue.context.headers.enable": "true",
        }
    )
    until_noted(tmp_path / "notes", "k=a", "k=b")
    found = messages(bootstrap, letters, 2)
    assert [each.value() for each in found] == [b"not json", b'"bad"']
    told = [str(dict(each.headers() or [])["__connect.errors.exception.message"]) for each in found]
    assert "VALUE_CONVERTER by org.apache.kafka.connect.json.JsonConverter" in told[0]
    assert "TASK_PUT by acme.Acme$NotesTask: java.lang.ArithmeticException: too bad" in told[1]


def test_a_fault_of_a_sink_ends_its_task(
    start: Start, bootstrap: str, tmp_path: Path, topic: str
) -> None:
    write(bootstrap, topic, b"fine", b"fatal")
    worker = start(notes(tmp_path, topic))
    trace = worker.until_failed(TaskId("notes", 0))
    assert "java.lang.IllegalStateException: the end" in trace
    until_noted(tmp_path / "notes", "null=fine", "stopped")


def test_settings_are_what_the_connector_says(start: Start, tmp_path: Path, topic: str) -> None:
    worker = start()
    plugin = Catalogue().find(Role.CONNECTOR, NUMBERS)
    assert plugin is not None
    assert (plugin.version, plugin.is_source) == ("7.1", True)
    assert list(plugin.definition.by_name) == ["topic", "last", "secret"]
    assert plugin.definition.by_name["topic"].required
    assert isinstance(plugin.definition.by_name["secret"].default, Password)
    wrong = numbers(tmp_path, topic, last="0", secret="mine")
    with pytest.raises(BadRequestException, match="Value must be at least 1"):
        worker.create(wrong)
    shown = validate(wrong, Catalogue(), worker.standalone.settings.traits)
    assert len(faults(shown)) == 1
    assert "mine" not in repr(shown)
