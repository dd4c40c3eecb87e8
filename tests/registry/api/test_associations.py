"""`/associations…` over a real socket."""

from __future__ import annotations

from typing import Any

from tests.registry.running import RunningRegistry

STRING = {"schema": '{"type":"string"}'}


def wish(name: str, *associations: dict[str, Any]) -> dict[str, Any]:
    return {
        "resourceName": name,
        "resourceNamespace": "lkc",
        "resourceId": f"id-{name}",
        "resourceType": "topic",
        "associations": list(associations) or [{"associationType": "value", "schema": STRING}],
    }


def test_life_of_an_association(registry: RunningRegistry, subject: str) -> None:
    """Created with a schema, read by subject, id and name, changed, deleted with its subject."""
    created = registry.call("POST", "/associations", wish(subject))
    assert created.status == 200, created.raw
    owned = created.body["associations"][0]["subject"]
    assert owned == f"{subject}-value"
    for path in (f"subjects/{owned}", f"resources/id-{subject}", f"resources/lkc/{subject}"):
        (found,) = registry.call("GET", f"/associations/{path}").body
        assert (found["resourceName"], found["lifecycle"]) == (subject, "STRONG")
    path = f"/associations/resources/id-{subject}"
    assert registry.call("GET", f"{path}?associationType=key").body == []
    weak = wish(subject, {"associationType": "value", "lifecycle": "WEAK"})
    assert registry.call("PUT", path, weak).body["associations"][0]["lifecycle"] == "WEAK"
    assert registry.call("DELETE", f"{path}?dryRun=true").status == 204
    assert len(registry.call("GET", path).body) == 1
    assert registry.call("DELETE", f"{path}?cascadeLifecycle=true").status == 204
    assert registry.call("DELETE", path).code == 40410


def test_conflicts(registry: RunningRegistry, subject: str) -> None:
    """40903 for the same again with another content, 40904 for a subject that has an owner."""
    registry.call("POST", "/associations", wish(subject))
    again = wish(subject, {"associationType": "value", "lifecycle": "WEAK"})
    assert registry.call("POST", "/associations", again).code == 40903
    other = wish(f"{subject}-o", {"associationType": "value", "subject": f"{subject}-value"})
    assert registry.call("POST", "/associations", other).code == 40904
    missing = wish(f"{subject}-m", {"associationType": "value"})
    assert registry.call("POST", "/associations", missing).code == 40907


def test_bad_associations_are_42212(registry: RunningRegistry, subject: str) -> None:
    """The message names the property."""
    answer = registry.call("POST", "/associations", {**wish(subject), "resourceName": None})
    assert (answer.status, answer.code) == (422, 42212)
    assert "resourceName" in answer.body["message"]
    path = "/associations/resources/another"
    assert registry.call("PUT", path, wish(subject)).code == 42212
    assert registry.call("POST", "/associations:batch", {"requests": []}).code == 42212


def test_a_batch_answers_for_each(registry: RunningRegistry, subject: str) -> None:
    """207: what can be done is done, what cannot has its own error."""
    body = {"requests": [wish(f"{subject}-1"), {"resourceName": "x"}, wish(f"{subject}-2")]}
    answer = registry.call("POST", "/associations:batch", body)
    assert answer.status == 207
    first, second, third = answer.body["results"]
    assert first["result"]["resourceName"] == f"{subject}-1"
    assert second["error"]["error_code"] == 42212
    assert third["result"]["associations"][0]["schema"]["version"] == 1


def test_schemas_can_be_listed_by_association(registry: RunningRegistry, subject: str) -> None:
    """`GET /schemas?lifecycle=` shows only subjects with such an association."""
    registry.call("POST", "/associations", wish(subject))
    path = f"/schemas?subjectPrefix={subject}&lifecycle="
    assert len(registry.call("GET", f"{path}STRONG").body) == 1
    assert registry.call("GET", f"{path}WEAK").body == []
