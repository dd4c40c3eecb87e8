"""`headrace produce` and `consume` with the schemas of a registry."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer

from headrace.cli import profiles
from headrace.client.registry.pool import Pool, Reply
from headrace.schemas.framing import VALUE_SCHEMA_ID_HEADER
from tests.cli.conftest import Headrace, Outcome
from tests.cli.schema.conftest import Files, SchemaCommand

AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}],
}
PROTOBUF = 'syntax = "proto3"; message Order { int64 id = 1; string note = 2; }'
JSON_SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
SUFFIXES = {"avro": ".avsc", "protobuf": ".proto", "json": ".json"}


class Case(NamedTuple):
    schema: object
    written: dict[str, object]
    shown: dict[str, object]


CASES = {
    "avro": Case(AVRO, {"id": 1, "note": {"string": "ü"}}, {"id": 1, "note": {"string": "ü"}}),
    "protobuf": Case(PROTOBUF, {"id": 2, "note": "ü"}, {"id": "2", "note": "ü"}),
    "json": Case(JSON_SCHEMA, {"id": 3}, {"id": 3}),
}


@pytest.fixture
def run(headrace: Headrace, schema: SchemaCommand) -> Headrace:
    """`headrace`, with broker and registry in the environment."""
    del schema
    return headrace


@pytest.fixture
def orders(run: Headrace) -> str:
    name = f"orders-{uuid.uuid4().hex[:12]}"
    assert run("topic", "create", name, "--partitions", "1").code == 0
    return name


@pytest.fixture
def register(run: Headrace, files: Files) -> Callable[[str, str], int]:
    """Register the schema of a case under a subject; its id."""

    def register(subject: str, form: str) -> int:
        file = files.write(CASES[form].schema, SUFFIXES[form])
        done = run("schema", "register", subject, file, "--type", form, "--output", "json")
        assert done.code == 0, done.err
        return int(json.loads(done.out)[0]["id"])

    return register


def lines(outcome: Outcome) -> list[object]:
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


@pytest.mark.parametrize("form", CASES)
def test_values_with_a_schema_are_written_and_shown(
    run: Headrace, orders: str, register: Callable[[str, str], int], form: str
) -> None:
    """What produce encodes by id or subject, consume prints as JSON, by name or with auto."""
    case = CASES[form]
    schema_id = register(f"{orders}-value", form)
    line = json.dumps(case.written).encode()
    by_id = ("--value-schema-id", str(schema_id))
    by_subject = ("--value-format", "auto" if form == "json" else form)
    for choice in (by_id, by_subject):
        assert run("produce", orders, *choice, stdin=line).code == 0
    for chosen in (form, "auto"):
        assert lines(run("consume", orders, "--value-format", chosen)) == [case.shown] * 2
    found = run("consume", orders, "--value-format", "auto", "-o", "json", "-n", "1")
    assert lines(found)[0]["value"] == case.shown  # type: ignore[index]
    sizes = run("consume", orders, "--format", "%V\\n", "-n", "1").out
    assert (
        run("consume", orders, "--value-format", form, "--format", "%V\\n", "-n", "1").out == sizes
    )


def test_keys_have_schemas_of_their_own(
    run: Headrace, orders: str, register: Callable[[str, str], int]
) -> None:
    """--key-format takes the subject TOPIC-key; the value stays text."""
    register(f"{orders}-key", "avro")
    line = b'{"key": {"id": 7, "note": null}, "value": "plain"}'
    assert run("produce", orders, "--format", "json", "--key-format", "avro", stdin=line).code == 0
    found = run("consume", orders, "--key-format", "auto", "--format", "%k %v\\n")
    assert found.out == '{"id":7,"note":null} plain\n'


def test_a_schema_named_by_a_header_is_found(
    run: Headrace,
    orders: str,
    register: Callable[[str, str], int],
    services: dict[str, str],
) -> None:
    """Serializers of Confluent 8 put the schema's GUID into a header and leave the value bare."""
    register(f"{orders}-value", "json")
    shown = run("schema", "get", f"{orders}-value", "--output", "json")
    guid = uuid.UUID(json.loads(shown.out)["guid"])
    producer = Producer({"bootstrap.servers": services["broker"]})
    producer.produce(orders, b'{"id": 9}', headers=[(VALUE_SCHEMA_ID_HEADER, b"\x01" + guid.bytes)])
    assert producer.flush(30) == 0
    assert lines(run("consume", orders, "--value-format", "auto")) == [{"id": 9}]


def test_auto_prints_what_has_no_schema_as_it_is(
    run: Headrace, orders: str, services: dict[str, str]
) -> None:
    """Text, tombstones, and bytes that only look like a schema's id; a format by name is strict."""
    producer = Producer({"bootstrap.servers": services["broker"]})
    for value in (b"text", None, b"\0\x7f\x7f\x7f\x7f!"):
        producer.produce(orders, value)
    assert producer.flush(30) == 0
    found = run("consume", orders, "--value-format", "auto", "--null-marker", "NULL")
    assert found.code == 0, found.err
    assert found.out == "text\nNULL\n\0\x7f\x7f\x7f\x7f!\n"
    strict = run("consume", orders, "--value-format", "avro")
    assert strict.code == 1
    assert f"the value at {orders}-0 offset 0 cannot be decoded as avro" in strict.err
    assert "--value-format auto" in strict.err


def produce(services: dict[str, str], topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": services["broker"]})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(30) == 0


def test_an_id_that_is_not_known_is_asked_for_once(
    run: Headrace, orders: str, services: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain bytes may look framed by the million; the id 0 is none."""
    looks = b"\0\x7f\x7f\x7f\x7f"
    produce(services, orders, *(looks + b"%d" % number for number in range(20)))
    produce(services, orders, b"\0\0\0\0\0!", b"\0" + "üü".encode())
    asked = []
    request = Pool.request

    def counted(pool: Pool, method: str, target: str, *rest: Any) -> Reply:
        asked.append(target)
        return request(pool, method, target, *rest)

    monkeypatch.setattr(Pool, "request", counted)
    found = run("consume", orders, "--value-format", "auto")
    assert (found.code, found.err) == (0, "")
    assert len(found.out.splitlines()) == 22
    assert asked == [f"/schemas/ids/{0x7F7F7F7F}"]


def test_auto_without_a_registry_prints_text_and_says_so_once(
    run: Headrace, orders: str, services: dict[str, str]
) -> None:
    """A format that is asked for by its name fails, and so does a schema in a header."""
    produce(services, orders, b"text", b"\0\0\0\0\x01a", b"\0\0\0\0\x02b")
    away = ("--registry", "http://127.0.0.1:1")
    found = run("consume", orders, "--value-format", "auto", *away)
    assert found.code == 0, found.err
    assert found.out == "text\n\0\0\0\0\x01a\n\0\0\0\0\x02b\n"
    [line] = found.err.splitlines()
    assert "no registry answers (http://127.0.0.1:1: " in line
    assert f"printed as text, first the value at {orders}-0 offset 1" in line
    strict = run("consume", orders, "--value-format", "avro", "--from", "1", *away)
    assert strict.code == 1
    producer = Producer({"bootstrap.servers": services["broker"]})
    producer.produce(orders, b"{}", headers=[(VALUE_SCHEMA_ID_HEADER, b"\x01" + bytes(16))])
    assert producer.flush(30) == 0
    named = run("consume", orders, "--value-format", "auto", *away)
    assert named.code == 1
    assert "no registry answers" in named.err


def test_an_id_of_another_subject_is_told_from_one_that_is_not_there(
    run: Headrace, orders: str, register: Callable[[str, str], int]
) -> None:
    """Whether the topic's own subject exists or not; the registry says why."""
    schema_id = register(f"{orders}-other", "avro")
    for _ in range(2):
        refused = run("produce", orders, "--value-schema-id", str(schema_id), stdin=b"{}")
        assert refused.code == 1
        assert f"schema {schema_id} is not registered under the subject {orders}-v" in refused.err
        assert f'register it under {orders}-value with "headrace schema register"' in refused.err
        register(f"{orders}-value", "json")
    missing = run("produce", orders, "--value-schema-id", "99999", stdin=b"{}")
    assert "there is no schema 99999" in missing.err


def test_json_text_needs_no_registry(run: Headrace, orders: str) -> None:
    """--value-format json reads plain JSON without asking a registry."""
    assert run("produce", orders, stdin=b'{"a": 1}').code == 0
    found = run("consume", orders, "--value-format", "json", "--registry", "http://127.0.0.1:1")
    assert lines(found) == [{"a": 1}]


def test_what_is_wrong_is_reported_before_anything_is_sent(
    run: Headrace, orders: str, register: Callable[[str, str], int]
) -> None:
    """No schema, a value that does not fit, another type, no registry: cause and remedy."""
    missing = run("produce", orders, "--value-format", "avro", stdin=b"{}")
    assert missing.code == 1
    assert f'subject "{orders}-value" has no schema; register one with' in missing.err
    unknown = run("produce", orders, "--value-schema-id", "99999", stdin=b"{}")
    assert "there is no schema 99999" in unknown.err
    register(f"{orders}-value", "avro")
    misfit = run("produce", orders, "--value-format", "avro", stdin=b'{"id": "x"}')
    assert misfit.code == 1
    assert "line 1: it does not fit schema" in misfit.err
    other = run("produce", orders, "--value-format", "protobuf", stdin=b"{}")
    assert "is of type AVRO, not PROTOBUF" in other.err
    exclusive = run("produce", orders, "--value-format", "hex", "--value-schema-id", "1")
    assert exclusive.code == 2
    away = run("produce", orders, "--value-format", "avro", "-r", "http://127.0.0.1:1", stdin=b"{}")
    assert away.code == 1
    assert "--registry" in away.err
    assert run("consume", orders).out == ""


def test_the_registry_comes_from_the_profile_or_a_properties_file(
    run: Headrace,
    orders: str,
    register: Callable[[str, str], int],
    services: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A client.properties may name both; the client of the brokers is not given the registry's."""
    folder = tmp_path_factory.mktemp("profiles")
    register(f"{orders}-value", "avro")
    line = b'{"id": 1, "note": null}'
    assert run("produce", orders, "--value-format", "avro", stdin=line).code == 0
    monkeypatch.delenv("SCHEMA_REGISTRY_URL")
    given = folder / "client.properties"
    given.write_text(f"schema.registry.url={services['registry']}\nclient.id=me\n")
    found = run("consume", orders, "--value-format", "avro", "-X", f"@{given}")
    assert lines(found) == [json.loads(line)]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    created = run("profile", "create", "here", "-b", services["broker"], "-X", f"@{given}", "--use")
    assert created.code == 0, created.err
    assert profiles.read().by_name["here"].registry == services["registry"]
    assert lines(run("consume", orders, "--value-format", "avro")) == [json.loads(line)]
