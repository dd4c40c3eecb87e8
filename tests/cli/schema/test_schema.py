"""`headrace schema` against a registry: what it prints, what it changes, how it fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
import typer

from headrace.cli.app import app
from headrace.cli.completion import complete_subject
from tests.cli.conftest import Headrace
from tests.cli.schema.conftest import Files, SchemaCommand
from tests.client.listeners import unused_port

ID = {"name": "id", "type": "int"}
PRICE = {"name": "price", "type": "double"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}


def test_a_schema_is_registered_listed_and_shown(
    schema: SchemaCommand, subject: str, files: Files
) -> None:
    """A second registration changes nothing; tables and JSON tell the same."""
    # A schema that no other test has gets an id of its own.
    name = f"Order{subject[2:10]}"
    file = files.record(ID, name=name)
    first = schema("register", subject, file, "-o", "json")
    assert (first.code, first.err) == (0, "")
    [row] = json.loads(first.out)
    assert row == {"subject": subject, "version": 1, "id": row["id"]}
    assert schema("register", subject, file, "-o", "json").out == first.out
    assert json.loads(
        schema("register", subject, files.record(ID, NOTE, name=name), "-o", "json").out
    ) == [{"subject": subject, "version": 2, "id": row["id"] + 1}]
    listed = json.loads(schema("list", subject[:8] + "*", "--versions", "-o", "json").out)
    assert [(each["subject"], each["version"], each["type"]) for each in listed] == [
        (subject, 1, "AVRO"),
        (subject, 2, "AVRO"),
    ]
    table = schema("list", f"*{subject[4:]}").out.splitlines()
    assert table[0].split() == ["SUBJECT", "VERSION", "ID", "TYPE"]
    assert table[1].split()[-3:] == ["2", str(row["id"] + 1), "AVRO"]

    shown = schema("get", subject, "--version", "1").out
    assert shown.startswith(f"{subject}: version 1, id {row['id']}, AVRO\nguid ")
    assert f'  "name": "{name}",\n' in shown
    by_id = schema("get", "--id", str(row["id"]), "--raw").out
    assert json.loads(by_id) == {"type": "record", "name": name, "fields": [ID]}
    guid = json.loads(schema("get", subject, "-o", "json").out)["guid"]
    assert json.loads(schema("get", "--guid", guid, "--raw").out)["fields"] == [ID, NOTE]


def test_an_incompatible_schema_is_explained(
    schema: SchemaCommand, subject: str, files: Files
) -> None:
    """Rule, path, both texts and the offending version; exit code 1."""
    assert schema("register", subject, files.record(ID)).code == 0
    assert schema("register", subject, files.record(ID, NOTE)).code == 0
    assert schema("config", subject, "-c", "full_transitive").code == 0
    good = schema("check", subject, files.record(ID, NOTE))
    assert good.code == 0
    assert good.out == f"{subject}: the schema is compatible (FULL_TRANSITIVE)\n"

    bad = schema("check", subject, files.record(ID, NOTE, PRICE), "-o", "json")
    assert bad.code == 1
    report = json.loads(bad.out)
    assert [(each["version"], each["rule"], each["path"]) for each in report["breaches"]] == [
        (2, "READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/2"),
        (1, "READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/2"),
    ]
    assert "price" in report["breaches"][0]["after"]
    assert report["messages"]
    text = schema("check", subject, files.record({**ID, "type": "string"}), "--version", "1")
    assert text.code == 1
    lines = text.out.splitlines()
    assert lines[0] == f"{subject}: the schema is NOT compatible (FULL_TRANSITIVE)"
    assert lines[2] == "version 1: TYPE_MISMATCH at /fields/0/type"
    assert [line.split() for line in lines if line.startswith(("  before", "  after"))][:2] == [
        ["before", '"int"'],
        ["after", '"string"'],
    ]
    refused = schema("register", subject, files.record(ID, NOTE, PRICE))
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert refused.err.endswith('see what breaks with "headrace schema check"\n')


def test_two_versions_are_compared(schema: SchemaCommand, subject: str, files: Files) -> None:
    """Fields by name, whatever their order; Protobuf by line; who reads what."""
    schema("config", subject, "--compatibility", "NONE")
    schema("register", subject, files.record(ID, PRICE))
    schema("register", subject, files.record({**PRICE, "type": "float"}, ID, NOTE))
    text = schema("diff", subject).out.splitlines()
    assert text[0].startswith(f"{subject}: version 1 (id ")
    assert sorted(text[1:-1]) == [
        '+ /fields/note  {"name": "note", "type": ["null", "string"], "default": null}',
        '~ /fields  ["id", "price"] -> ["price", "id"]',
        '~ /fields/price/type  "double" -> "float"',
    ]
    assert text[-1] == (
        "the new one does NOT read what the old one wrote, the old one reads what the new one wrote"
    )
    proto = 'syntax = "proto3";\nmessage A {\n  int32 id = 1;\n}\n'
    other = f"{subject}-proto"
    schema("register", other, files.write(proto, ".proto"))
    schema("register", other, files.write(proto.replace("}", "  string b = 2;\n}"), ".proto"))
    report = json.loads(schema("diff", other, "1", "2", "-o", "json").out)
    assert [(each["change"], each["after"]) for each in report["changes"]] == [
        ("added", "  string b = 2;")
    ]
    assert (report["backward"], report["from"]["type"]) == (True, "PROTOBUF")
    same = schema("diff", other, "1", "1").out
    assert same.splitlines()[1] == "nothing changed"


def test_references_are_resolved(schema: SchemaCommand, subject: str, files: Files) -> None:
    """A check compares schemas in which a name stands for another subject."""
    base = f"{subject}-customer"
    schema("register", base, files.record(ID, name="Customer"))
    reference = f"Customer={base}:1"
    customer = {"name": "customer", "type": "Customer"}
    file = files.record(ID, customer)
    assert schema("register", subject, file, "--reference", reference).code == 0
    assert (
        f"refers to {reference.partition('=')[0]} = {base} version 1" in schema("get", subject).out
    )
    broken = schema("check", subject, files.record(customer, PRICE), "--reference", reference)
    assert broken.code == 1
    assert "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/1" in broken.out
    refused = schema("delete", base, "--version", "1")
    assert refused.code == 1
    assert "delete first what refers to it" in refused.err


def test_settings_and_modes(schema: SchemaCommand, subject: str, files: Files) -> None:
    """What applies is shown, inherited or not; IMPORT takes ids and versions."""
    assert schema("config").out == "compatibilityLevel: BACKWARD\n"
    assert "compatibilityLevel: FORWARD\n" in schema("config", subject, "-c", "forward").out
    assert "BACKWARD" in schema("config", subject, "--delete").out
    assert schema("mode", subject, "--set", "readonly").out.endswith("mode: READONLY\n")
    denied = schema("register", subject, files.record(ID))
    assert (denied.code, denied.out) == (1, "")
    assert 'see "headrace schema mode"' in denied.err
    assert schema("mode", subject, "--set", "import").code == 0
    imported = schema(
        "register", subject, files.record(ID), "--id", "100000", "--version", "7", "-o", "json"
    )
    assert json.loads(imported.out) == [{"subject": subject, "version": 7, "id": 100000}]
    assert schema("mode", subject, "--delete").out.endswith("mode: READWRITE\n")


def test_deletion_is_soft_or_for_good(schema: SchemaCommand, subject: str, files: Files) -> None:
    """Soft-deleted versions are listed on request; --permanent takes both steps."""
    schema("register", subject, files.record(ID))
    schema("register", subject, files.record(ID, NOTE))
    deleted = schema("delete", subject, "--version", "1", "-y", "-o", "json")
    assert json.loads(deleted.out) == [{"subject": subject, "version": 1, "result": "deleted"}]
    listed = schema("list", subject, "--versions", "--deleted", "-o", "json").out
    assert [each["deleted"] for each in json.loads(listed)] == [True, False]
    gone = schema("delete", subject, "--permanent", "-o", "json")
    assert [each["version"] for each in json.loads(gone.out)] == [1, 2]
    assert json.loads(schema("list", subject, "--deleted", "-o", "json").out) == []
    missing = schema("get", f"{subject[:-1]}x")
    assert missing.code == 1
    assert missing.err.startswith(f'headrace: there is no subject "{subject[:-1]}x"; ')


def test_subjects_are_completed_from_the_registry(
    schema: SchemaCommand, subject: str, files: Files, services: dict[str, str]
) -> None:
    """The registry is asked; when none answers there is nothing to offer."""
    schema("register", subject, files.record(ID))
    root: Any = typer.main.get_command(app)

    def offered(url: str) -> list[str]:
        words = typer.Context(root)
        words.params["registry"] = url
        return complete_subject(words, subject[:6])

    assert subject in offered(services["registry"])
    assert offered(f"http://127.0.0.1:{unused_port()}") == []


def test_a_backup_restores_byte_for_byte(
    schema: SchemaCommand, subject: str, files: Files, tmp_path: str
) -> None:
    """Every record with its key; another topic has the same ones afterwards, and once only."""
    schema("register", subject, files.record(ID))
    file, again = f"{tmp_path}/all.jsonl", f"{tmp_path}/again.jsonl"
    assert schema("backup", file).code == 0
    with open(file) as lines:
        records = [json.loads(line) for line in lines]
    keys = [json.loads(each["key"]) for each in records]
    assert {"keytype": "SCHEMA", "subject": subject, "version": 1, "magic": 1} in keys
    copy = f"schemas-{len(records)}-{abs(hash(subject))}"
    restored = schema("restore", file, "--topic", copy, "-o", "json")
    assert json.loads(restored.out)[0]["records"] == len(records)
    assert schema("backup", again, "--topic", copy).code == 0
    with open(again) as lines:
        copied = [json.loads(line) for line in lines]
    kept = ("timestamp", "key", "value")
    assert [[each[name] for name in kept] for each in copied] == [
        [each[name] for name in kept] for each in records
    ]
    twice = schema("restore", file, "--topic", copy)
    assert twice.code == 1
    assert "restore into an empty topic, or add --merge" in twice.err
    printed = schema("backup", "-", "--topic", copy)
    assert len(printed.out.splitlines()) == len(records)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("no json", "Expecting value"),
        ('{"timestamp": 1, "key": null, "value": null}', "its key is not"),
        ('{"timestamp": 1, "key": "{}", "value": null}', "its key is not"),
        ('{"timestamp": 1, "key_base64": "*", "value": null}', "base64"),
        ("[]", "list indices"),
    ],
)
def test_a_backup_that_is_none_is_refused(
    headrace: Headrace, files: Files, line: str, reason: str
) -> None:
    """The line is named before any broker is asked."""
    file = files.write(line + "\n", ".jsonl")
    outcome = headrace("schema", "restore", file, "-b", f"127.0.0.1:{unused_port()}")
    assert outcome.code == 1
    assert "line 1 is not a record of a backup" in outcome.err
    assert reason in outcome.err


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["get"], 2, "one of SUBJECT, --id and --guid is needed"),
        (["get", "a", "--id", "1"], 2, "give exactly one of them"),
        (["register", "a", "/no/such.avsc"], 1, "cannot be read (No such file"),
        (["register", "a", "-", "--reference", "x"], 2, "NAME=SUBJECT:VERSION"),
        (["config", "--delete", "-c", "FULL"], 2, "exclude each other"),
        (["mode", "--delete", "--set", "IMPORT"], 2, "exclude each other"),
        (["delete", "a", "--permanent", "--version", "latest"], 2, "name the version"),
        (["list", "-r", "ftp://x"], 1, "is not an address such as http://host:8081"),
    ],
)
def test_wrong_usage_is_told_in_one_line(
    headrace: Headrace, words: list[str], code: int, complaint: str
) -> None:
    """Nothing is asked of a registry."""
    outcome = headrace("schema", *words)
    assert (outcome.code, outcome.out) == (code, "")
    assert complaint in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_registry_that_is_not_there_is_told(
    headrace: Headrace, schema: SchemaCommand, services: dict[str, str], files: Files
) -> None:
    """Nobody listens, the server is no registry, the schema is none: cause and remedy."""
    silent = headrace("schema", "list", "-r", f"http://127.0.0.1:{unused_port()}")
    assert silent.code == 1
    assert 'start one with "headrace up"' in silent.err
    wrong = schema("list", "-r", f"http://{services['broker']}")
    assert wrong.code == 1
    assert "Traceback" not in wrong.err
    invalid = schema("register", "x", files.write('{"type": "recrod"}'))
    assert invalid.code == 1
    assert "correct the schema" in invalid.err
    level = schema("config", "-c", "sideways")
    assert "use BACKWARD, FORWARD, FULL" in level.err
