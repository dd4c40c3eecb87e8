"""`/subjects…` over a real socket: every endpoint, parameter and code of its table."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.registry.running import EXTENDED, Answer, RunningRegistry

STRING = {"schema": '{"type":"string"}'}
V1 = {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'}
V2 = {
    "schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},'
    '{"name":"b","type":"int","default":1}]}'
}
BROKEN = {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"string"}]}'}


def register(registry: RunningRegistry, subject: str, body: object = None) -> Answer:
    return registry.call("POST", f"/subjects/{quote(subject, safe='')}/versions", body or V1)


@pytest.mark.spec("slides:G12", "book2:A10-03", "book2:E-09", "book2:E-10")
def test_register(registry: RunningRegistry, subject: str) -> None:
    """`POST /subjects/{s}/versions` gives an id, and the same one for the same schema again."""
    first = register(registry, subject, STRING)
    again = register(registry, subject, STRING)
    assert first.status == again.status == 200
    assert first.body["id"] == again.body["id"]
    assert first.body["version"] == 1


@pytest.mark.spec("slides:G13", "slides:G14", "slides:G15", "slides:G16", "book2:E-01")
def test_subjects_and_versions(registry: RunningRegistry, subject: str) -> None:
    """Every version is kept and can be read by its number or as the latest; slashes may trail."""
    ids = [register(registry, subject, body).body["id"] for body in (V1, V2)]
    assert subject in registry.call("GET", "/subjects").body
    assert registry.call("GET", f"/subjects/{subject}/versions/").body == [1, 2]
    first = registry.call("GET", f"/subjects/{subject}/versions/1").body
    assert (first["subject"], first["version"], first["id"]) == (subject, 1, ids[0])
    assert first["schema"] == V1["schema"]
    for latest in ("latest", "-1", "2"):
        answer = registry.call("GET", f"/subjects/{subject}/versions/{latest}")
        assert answer.body["id"] == ids[1]
    text = registry.call("GET", f"/subjects/{subject}/versions/1/schema")
    assert text.raw.decode() == V1["schema"]


def test_list_subjects_by_prefix_and_pages(registry: RunningRegistry, subject: str) -> None:
    """By prefix (`subject=` as the Python client spells it), by pages, also deleted ones."""
    for suffix in "abc":
        register(registry, f"{subject}-{suffix}")
    path = f"/subjects?subjectPrefix={subject}"
    names = [f"{subject}-{suffix}" for suffix in "abc"]
    assert registry.call("GET", path).body == names
    assert registry.call("GET", f"/subjects?subject={subject}").body == names
    assert registry.call("GET", f"{path}&offset=1&limit=1").body == names[1:2]
    registry.call("DELETE", f"/subjects/{subject}-b")
    assert registry.call("GET", path).body == [names[0], names[2]]
    assert registry.call("GET", f"{path}&deleted=true").body == names
    for spelling in ("deletedOnly", "deleted_only"):
        assert registry.call("GET", f"{path}&{spelling}=true").body == names[1:2]


@pytest.mark.spec("slides:G18")
def test_look_up(registry: RunningRegistry, subject: str) -> None:
    """`POST /subjects/{s}` finds a registered schema; 40403 for another, 40401 without subject."""
    schema_id = register(registry, subject).body["id"]
    found = registry.call("POST", f"/subjects/{subject}", V1)
    assert (found.body["id"], found.body["version"]) == (schema_id, 1)
    assert registry.call("POST", f"/subjects/{subject}", V2).code == 40403
    assert registry.call("POST", f"/subjects/{subject}-none", V1).code == 40401
    assert registry.call("POST", f"/subjects/{subject}", {"schema": "{"}).code == 42201
    registry.call("DELETE", f"/subjects/{subject}")
    assert registry.call("POST", f"/subjects/{subject}", V1).status == 404
    assert registry.call("POST", f"/subjects/{subject}?deleted=true", V1).status == 200


def test_normalize(registry: RunningRegistry, subject: str) -> None:
    """With `normalize=true` two spellings of one schema are one version."""
    spaced = {"schema": '{ "name":"R", "type":"record", "fields":[{"type":"int","name":"a"}] }'}
    one = registry.call("POST", f"/subjects/{subject}/versions?normalize=true", V1).body
    two = registry.call("POST", f"/subjects/{subject}/versions?normalize=true", spaced).body
    assert one["id"] == two["id"]


@pytest.mark.spec("slides:G22", "slides:G33", "book2:E-07", "admin:SR-02")
def test_incompatible_registration(registry: RunningRegistry, subject: str) -> None:
    """409 with a message that names the subject and what is wrong."""
    register(registry, subject)
    answer = register(registry, subject, BROKEN)
    assert (answer.status, answer.code) == (409, 409)
    start = (
        "Schema being registered is incompatible with an earlier schema for subject "
        f'"{subject}", details: ['
    )
    assert answer.body["message"].startswith(start)
    assert "TYPE_MISMATCH" in answer.body["message"]


def test_deletion_in_two_steps(registry: RunningRegistry, subject: str) -> None:
    """40405 before, 40404 after the soft deletion; then it can be deleted for good."""
    path = f"/subjects/{subject}"
    assert registry.call("DELETE", path).code == 40401
    register(registry, subject)
    assert registry.call("DELETE", f"{path}?permanent=true").code == 40405
    assert registry.call("DELETE", path).body == [1]
    assert registry.call("GET", f"{path}/versions").code == 40401
    assert registry.call("GET", f"{path}/versions?deleted=true").body == [1]
    assert registry.call("DELETE", path).code == 40404
    assert registry.call("DELETE", f"{path}?permanent=true").body == [1]
    assert registry.call("GET", f"{path}/versions?deleted=true").code == 40401


def test_deletion_of_a_version(registry: RunningRegistry, subject: str) -> None:
    """40407 before, 40406 after the soft deletion of a version; 40402 and 42202 for others."""
    register(registry, subject)
    register(registry, subject, V2)
    path = f"/subjects/{subject}/versions"
    none = registry.call("GET", f"{path}?deletedOnly=true")
    assert (none.status, none.body) == (200, [])
    assert registry.call("POST", f"/subjects/{subject}", {"schema": ""}).code == 40403
    assert registry.call("POST", f"/subjects/{subject}-none", {"schema": ""}).code == 40401
    assert registry.call("DELETE", f"{path}/9").code == 40402
    assert registry.call("DELETE", f"{path}/x").code == 42202
    assert registry.call("DELETE", f"/subjects/{subject}-none/versions/1").code == 40401
    assert registry.call("DELETE", f"{path}/1?permanent=true").code == 40407
    answer = registry.call("DELETE", f"{path}/1")
    assert (answer.status, answer.body) == (200, 1)
    assert registry.call("DELETE", f"{path}/1").code == 40406
    assert registry.call("GET", f"{path}/1").code == 40402
    deleted = registry.call("GET", f"{path}/1?deleted=true", headers=EXTENDED).body
    assert deleted["deleted"] is True
    assert registry.call("GET", f"{path}?deletedOnly=true").body == [1]
    assert registry.call("DELETE", f"{path}/1?permanent=true").body == 1


@pytest.mark.parametrize("version", ["0", "-2", "x", "2147483648", "1.0", " 1", "latest2", "%00"])
def test_an_invalid_version_is_42202(registry: RunningRegistry, subject: str, version: str) -> None:
    """For every endpoint that has a version in its path."""
    register(registry, subject)
    path = f"/subjects/{subject}/versions/{quote(version, safe='%')}"
    for suffix in ("", "/schema", "/referencedby"):
        answer = registry.call("GET", path + suffix)
        assert (answer.status, answer.code) == (422, 42202)


def test_not_found(registry: RunningRegistry, subject: str) -> None:
    """40401 and 40402 with the texts that suites compare."""
    for suffix in ("versions", "versions/1", "versions/latest", "versions/1/schema", "metadata"):
        answer = registry.call("GET", f"/subjects/{subject}/{suffix}")
        assert (answer.status, answer.code) == (404, 40401), suffix
        assert answer.body["message"] == f"Subject '{subject}' not found."
    register(registry, subject)
    answer = registry.call("GET", f"/subjects/{subject}/versions/9")
    assert answer.body == {"error_code": 40402, "message": "Version 9 not found."}


def test_references(registry: RunningRegistry, subject: str) -> None:
    """`referencedby` names the ids; what is referred to cannot be deleted (42206)."""
    register(registry, subject)
    refers = {
        "schema": '{"type":"record","name":"S","fields":[{"name":"r","type":"R"}]}',
        "references": [{"name": "R", "subject": subject, "version": 1}],
    }
    schema_id = register(registry, f"{subject}-s", refers).body["id"]
    assert registry.call("GET", f"/subjects/{subject}/versions/1/referencedby").body == [schema_id]
    assert registry.call("DELETE", f"/subjects/{subject}/versions/1").code == 42206
    assert registry.call("DELETE", f"/subjects/{subject}").code == 42206
    missing = {**refers, "references": [{"name": "R", "subject": f"{subject}-x", "version": 1}]}
    assert register(registry, f"{subject}-t", missing).code == 42201


def test_ids_and_versions_by_hand(registry: RunningRegistry, subject: str) -> None:
    """Only in mode IMPORT (42205 otherwise); an id that is another schema's is 42207."""
    wish = {**V1, "id": 70_001, "version": 5}
    assert register(registry, subject, wish).code == 42205
    assert registry.call("PUT", f"/mode/{subject}", {"mode": "IMPORT"}).status == 200
    answer = register(registry, subject, wish)
    assert (answer.body["id"], answer.body["version"]) == (70_001, 5)
    assert registry.call("GET", f"/subjects/{subject}/versions").body == [5]
    registry.call("PUT", f"/mode/{subject}", {"mode": "READWRITE"})


def test_metadata(registry: RunningRegistry, subject: str) -> None:
    """The newest version with these properties; keys and values must pair up."""
    register(registry, subject, {**V1, "metadata": {"properties": {"owner": "a", "x": "1"}}})
    register(registry, subject, {**V2, "metadata": {"properties": {"owner": "b", "x": "1"}}})
    path = f"/subjects/{subject}/metadata"
    assert registry.call("GET", f"{path}?key=x&value=1").body["version"] == 2
    assert registry.call("GET", f"{path}?key=owner&value=a&key=x&value=1").body["version"] == 1
    assert registry.call("GET", f"{path}?key=owner&value=c").code == 40403
    assert registry.call("GET", f"{path}?key=owner").status == 400


def test_rule_sets_are_kept_and_checked(registry: RunningRegistry, subject: str) -> None:
    """A rule set comes back with the version; one without a name or kind is 42210."""
    rule = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}
    register(registry, subject, {**V1, "ruleSet": {"domainRules": [rule]}})
    found = registry.call("GET", f"/subjects/{subject}/versions/1").body
    assert found["ruleSet"]["domainRules"][0]["name"] == "r"
    broken = {**V2, "ruleSet": {"domainRules": [{"kind": "CONDITION"}]}}
    assert register(registry, subject, broken).code == 42210


def test_tags(registry: RunningRegistry, subject: str) -> None:
    """`POST …/tags` registers a version with tags inside the schema; `findTags` shows them."""
    register(registry, subject)
    place = {"entityPath": "R.a", "entityType": "sr_field"}
    answer = registry.call(
        "POST",
        f"/subjects/{subject}/versions/1/tags",
        {"newVersion": 2, "tagsToAdd": [{"schemaEntity": place, "tags": ["PII"]}]},
    )
    assert answer.status == 200, answer.raw
    found = registry.call("GET", f"/subjects/{subject}/versions/latest?findTags=*").body
    assert found["version"] == 2
    assert "PII" in found["schema"]
    assert found["schemaTags"][0]["tags"] == ["PII"]
    assert registry.call("POST", f"/subjects/{subject}/versions/9/tags", {}).code == 40402


@pytest.mark.parametrize(
    "name",
    ["a/b", "a b", "a:b", "ä€𝄞", "a%2Fb", "a?b#c", "..", "a+b", "<>&\"'", "{x}", "a\\b", "."],
)
def test_subjects_with_any_character(registry: RunningRegistry, subject: str, name: str) -> None:
    """A subject comes back as it was written, whatever characters it has."""
    name = f"{subject}{name}"
    assert register(registry, name).status == 200
    path = f"/subjects/{quote(name, safe='')}"
    assert registry.call("GET", f"{path}/versions/latest").body["subject"] == name
    assert registry.call("PUT", f"/config/{quote(name, safe='')}", {"compatibility": "NONE"}).status
    prefix = quote(subject, safe="")
    assert registry.call("GET", f"/subjects?subjectPrefix={prefix}").body == [name]
    assert registry.call("DELETE", path).body == [1]


def test_names_that_are_not_allowed(registry: RunningRegistry) -> None:
    """Control characters and the name of the global settings are 42208."""
    for name in ("a%00b", "a%0Ab", "__GLOBAL"):
        answer = registry.call("POST", f"/subjects/{name}/versions", V1)
        assert (answer.status, answer.code) == (422, 42208)
