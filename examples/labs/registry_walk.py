"""A walk through the Schema Registry's HTTP interface.

    python -m examples.labs.registry_walk

Register, list, find by version and by id, ask whether a schema is known and whether it would be
compatible, change what is demanded, and be refused with 409.
"""

from __future__ import annotations

import json
from typing import Any, Final

from examples.cluster.lab import say
from examples.labs.staging import Platform, check, expect, http, on_platform

SUBJECT: Final = "Employee"
MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_NAMESPACE: Final = "com.cloudurable.phonebook"


def employee(*fields: dict[str, Any]) -> dict[str, str]:
    """The body of a request: a schema as a text."""
    record = {"type": "record", "name": "Employee", "namespace": _NAMESPACE, "fields": fields}
    return {"schema": json.dumps(record)}


FIRST: Final = employee(
    {"name": "firstName", "type": "string"}, {"name": "lastName", "type": "string"}
)
WITH_AGE: Final = employee(
    {"name": "firstName", "type": "string"},
    {"name": "lastName", "type": "string"},
    {"name": "age", "type": "int", "default": -1},
)
RENAMED: Final = employee(
    {"name": "fName", "type": "string"},
    {"name": "lName", "type": "string"},
    {"name": "age", "type": "int", "default": -1},
)


def story(platform: Platform) -> None:
    def ask(method: str, path: str, body: object = None) -> tuple[int, Any]:
        return http(method, platform.registry, path, body, content_type=MEDIA_TYPE)

    _register_and_find(ask)
    _compatibility(ask)


def _register_and_find(ask: Any) -> None:
    versions = f"/subjects/{SUBJECT}/versions"
    say("Register a schema, and a second version of it")
    status, first = ask("POST", versions, FIRST)
    expect((status, "id" in first), (200, True), "the answer has its id")
    again = ask("POST", versions, FIRST)[1]
    expect(again["id"], first["id"], "the same schema again has the same id")
    second = ask("POST", versions, WITH_AGE)[1]
    check(second["id"] > first["id"], "another one has another id")

    say("What is there?")
    check(SUBJECT in ask("GET", "/subjects")[1], "the subject is in the list")
    expect(ask("GET", f"{versions}/"), (200, [1, 2]), "it has the versions 1 and 2")
    status, found = ask("GET", f"{versions}/1")
    expect(
        (found["subject"], found["version"], found["id"]),
        (SUBJECT, 1, first["id"]),
        "a version has its subject, number and id",
    )
    expect(found["schema"].replace(" ", ""), FIRST["schema"].replace(" ", ""), "and its schema")
    expect(ask("GET", f"{versions}/latest")[1]["version"], 2, "the latest is version 2")
    by_id = ask("GET", f"/schemas/ids/{second['id']}")[1]
    expect(json.loads(by_id["schema"]), json.loads(WITH_AGE["schema"]), "an id leads to its schema")
    known = ask("POST", f"/subjects/{SUBJECT}", WITH_AGE)[1]
    expect(known["version"], 2, "a schema that is known is found")
    expect(ask("POST", f"/subjects/{SUBJECT}", RENAMED)[0], 404, "one that is not is not")


def _compatibility(ask: Any) -> None:
    would = f"/compatibility/subjects/{SUBJECT}/versions/latest"
    say("Would a schema be compatible?")
    expect(ask("POST", would, WITH_AGE), (200, {"is_compatible": True}), "the same one would")
    expect(ask("POST", would, RENAMED), (200, {"is_compatible": False}), "renamed fields would not")
    expect(ask("GET", "/config")[1], {"compatibilityLevel": "BACKWARD"}, "BACKWARD is demanded")
    status, refused = ask("POST", f"/subjects/{SUBJECT}/versions", RENAMED)
    expect((status, refused["error_code"]), (409, 409), "it is refused with 409")

    say("Demand something else, of this subject only")
    expect(
        ask("PUT", f"/config/{SUBJECT}", {"compatibility": "none"}),
        (200, {"compatibility": "NONE"}),
        "lower case will do",
    )
    expect(ask("POST", f"/subjects/{SUBJECT}/versions", RENAMED)[0], 200, "now it is taken")
    expect(ask("GET", "/config")[1], {"compatibilityLevel": "BACKWARD"}, "others are as strict")
    expect(ask("PUT", "/config", {"compatibility": "full"})[0], 200, "the rest may be changed too")
    expect(ask("PUT", "/config", {"compatibility": "backward"})[0], 200, "and changed back")


if __name__ == "__main__":
    on_platform(story)
