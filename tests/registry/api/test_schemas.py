"""`/schemas…` over a real socket: every endpoint, parameter and code of its table."""

from __future__ import annotations

import pytest

from tests.registry.running import EXTENDED, RunningRegistry

STRING = {"schema": '{"type":"string"}'}
PROTO = 'syntax = "proto3";\nmessage M {\n  string a = 1;\n}\n'


def registered(
    registry: RunningRegistry, subject: str, body: dict[str, object] | None = None
) -> int:
    answer = registry.call("POST", f"/subjects/{subject}/versions", body or STRING)
    assert answer.status == 200, answer.raw
    found: int = answer.body["id"]
    return found


def unique(subject: str) -> dict[str, object]:
    """A schema that only this test has, so that its id is its own."""
    name = subject.replace("-", "_")
    return {"schema": f'{{"type":"record","name":"{name}","fields":[]}}'}


@pytest.mark.spec("slides:G17")
def test_get_schema_by_id(registry: RunningRegistry, subject: str) -> None:
    """`GET /schemas/ids/{id}` returns the schema with its type, GUID, time and deletion."""
    schema_id = registered(registry, subject, unique(subject))
    answer = registry.call("GET", f"/schemas/ids/{schema_id}")
    known = {**unique(subject), "schemaType": "AVRO", "deleted": False}
    assert (answer.status, {**answer.body, **known}) == (200, answer.body)
    assert set(answer.body) - set(known) == {"guid", "ts"}
    assert len(answer.body["guid"]) == 36
    again = registry.call("GET", f"/schemas/ids/{schema_id}?subject={subject}&fetchMaxId=true")
    assert (again.body["subject"], again.body["version"]) == (subject, 1)
    assert again.body["maxId"] >= schema_id


def test_annotations_that_no_file_defines_are_kept(registry: RunningRegistry, subject: str) -> None:
    """A schema with options for validation and gateways is read as it was written."""
    annotated = (
        'syntax = "proto3";\n\nimport "google/api/annotations.proto";\n'
        'import "buf/validate/validate.proto";\n\nmessage M {\n'
        "  string a = 1 [(buf.validate.field).string.min_len = 1];\n}\n\nservice S {\n"
        "  rpc Get (.M) returns (.M) {\n"
        '    option (google.api.http) = { get: "/v1/{a}" };\n  };\n}\n'
    )
    body: dict[str, object] = {"schema": annotated, "schemaType": "PROTOBUF"}
    schema_id = registered(registry, subject, body)
    assert registry.call("GET", f"/schemas/ids/{schema_id}").body["schema"] == annotated
    path = f"/compatibility/subjects/{subject}/versions/latest?verbose=true"
    changed = {**body, "schema": annotated.replace("string a = 1", "bool a = 1")}
    answer = registry.call("POST", path, changed).body
    assert "FIELD_SCALAR_KIND_CHANGED" in answer["messages"][0]
    lost = {**body, "schema": annotated.replace("string a = 1", "buf.validate.Lost a = 1")}
    refused = registry.call("POST", f"/subjects/{subject}/versions", lost)
    assert refused.code == 42201
    assert '"buf.validate.Lost" is not defined' in refused.body["message"]
    assert 'the import "buf/validate/validate.proto" was not found' in refused.body["message"]


def test_get_schema_by_id_in_a_form(registry: RunningRegistry, subject: str) -> None:
    """`format=serialized` returns a Protobuf schema as a base64 descriptor; the type is named."""
    schema_id = registered(registry, subject, {"schema": PROTO, "schemaType": "PROTOBUF"})
    plain = registry.call("GET", f"/schemas/ids/{schema_id}").body
    assert plain["schemaType"] == "PROTOBUF"
    serialized = registry.call("GET", f"/schemas/ids/{schema_id}?format=serialized").body
    assert serialized["schema"] != plain["schema"]
    assert "\n" not in serialized["schema"]


@pytest.mark.parametrize(
    "path",
    [
        "/schemas/ids/999999",
        "/schemas/ids/-5",
        "/schemas/ids/999999/schema",
        "/schemas/ids/999999/subjects",
        "/schemas/ids/999999/versions",
        "/schemas/guids/00000000-0000-0000-0000-000000000000",
        "/schemas/guids/00000000-0000-0000-0000-000000000000/ids",
        "/schemas/guids/no-guid",
    ],
)
def test_unknown_schemas_are_40403(registry: RunningRegistry, path: str) -> None:
    """An id or a GUID that nobody has is 40403 wherever it is asked for."""
    answer = registry.call("GET", path)
    assert (answer.status, answer.code) == (404, 40403)
    assert answer.body["message"].startswith("Schema ")


@pytest.mark.parametrize("path", ["/schemas/ids/x", "/schemas/ids/99999999999", "/schemas/ids/1.5"])
def test_an_id_that_is_no_number_is_404(registry: RunningRegistry, path: str) -> None:
    """As an address that does not exist, which is what the JVM's registry answers."""
    answer = registry.call("GET", path)
    assert (answer.status, answer.body) == (
        404,
        {"error_code": 404, "message": "HTTP 404 Not Found"},
    )


def test_get_schema_text(registry: RunningRegistry, subject: str) -> None:
    """`GET /schemas/ids/{id}/schema` is the bare text, not a JSON string of it."""
    schema_id = registered(registry, subject, unique(subject))
    answer = registry.call("GET", f"/schemas/ids/{schema_id}/schema")
    assert answer.raw.decode() == unique(subject)["schema"]
    form = registry.call(
        "GET", f"/schemas/ids/{schema_id}/schema?format=resolved&subject={subject}"
    )
    assert form.status == 200


def test_subjects_and_versions_of_an_id(registry: RunningRegistry, subject: str) -> None:
    """One schema under two subjects has one id; deletion hides them, `deleted=true` shows them."""
    body = unique(subject)
    schema_id = registered(registry, subject, body)
    assert registered(registry, f"{subject}-2", body) == schema_id
    path = f"/schemas/ids/{schema_id}"
    assert registry.call("GET", f"{path}/subjects").body == [subject, f"{subject}-2"]
    assert registry.call("GET", f"{path}/subjects?offset=1&limit=1").body == [f"{subject}-2"]
    assert registry.call("GET", f"{path}/versions").body == [
        {"subject": subject, "version": 1},
        {"subject": f"{subject}-2", "version": 1},
    ]
    registry.call("DELETE", f"/subjects/{subject}")
    assert registry.call("GET", f"{path}/subjects").body == [f"{subject}-2"]
    assert len(registry.call("GET", f"{path}/subjects?deleted=true").body) == 2
    assert len(registry.call("GET", f"{path}/versions?deleted=true").body) == 2


def test_schema_by_guid(registry: RunningRegistry, subject: str) -> None:
    """A GUID names a schema, and has an id in each context."""
    schema_id = registered(registry, subject, unique(subject))
    guid = registry.call("GET", f"/schemas/ids/{schema_id}", headers=EXTENDED).body["guid"]
    assert (
        registry.call("GET", f"/schemas/guids/{guid}").body["schema"] == unique(subject)["schema"]
    )
    ids = registry.call("GET", f"/schemas/guids/{guid}/ids").body
    assert {"context": ".", "id": schema_id} in ids


def test_list_schemas(registry: RunningRegistry, subject: str) -> None:
    """`GET /schemas` by prefix, newest versions only, with deleted ones, by pages."""
    registered(registry, subject, unique(subject))
    registered(registry, subject, {"schema": str(unique(subject)["schema"])[:-1] + ',"doc":"x"}'})
    path = f"/schemas?subjectPrefix={subject}"
    assert [each["version"] for each in registry.call("GET", path).body] == [1, 2]
    latest = registry.call("GET", f"{path}&latestOnly=true").body
    assert [each["version"] for each in latest] == [2]
    assert [each["version"] for each in registry.call("GET", f"{path}&offset=1").body] == [2]
    registry.call("DELETE", f"/subjects/{subject}")
    assert registry.call("GET", path).body == []
    assert len(registry.call("GET", f"{path}&deleted=true").body) == 2


def test_list_types(registry: RunningRegistry) -> None:
    """`GET /schemas/types` names the three formats."""
    assert registry.call("GET", "/schemas/types").body == ["JSON", "PROTOBUF", "AVRO"]
