"""Every error code by name: how it is provoked, and what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.registry import errors
from headrace.registry.associations import create_associations, delete_associations
from headrace.registry.compatibility import check_compatibility
from headrace.registry.configs import delete_config, get_config, set_config
from headrace.registry.contexts import delete_context
from headrace.registry.deks import (
    create_dek,
    create_kek,
    delete_dek,
    delete_kek,
    get_dek,
    get_kek,
    undelete_dek,
)
from headrace.registry.deletion import delete_subject, delete_version
from headrace.registry.entities import (
    AssociationInfo,
    AssociationRequest,
    ConfigUpdateRequest,
    CreateDekRequest,
    CreateKekRequest,
    ModeUpdateRequest,
    RegisterSchemaRequest,
    Rule,
    RuleSet,
)
from headrace.registry.lists import list_versions
from headrace.registry.look_up import get_schema_by_guid, get_schema_by_id, get_version, look_up
from headrace.registry.modes import delete_mode, get_mode, set_mode
from headrace.registry.state import Defaults

from .journal import TEAM, USER, USER_WITH_AGE, USER_WITH_NAME, Journal


def prepared() -> Journal:
    """Subject `a` with two versions, `gone` deleted softly, `team` that refers to `user`."""
    journal = Journal(Defaults(max_schema_bytes=1_000))
    journal.register("a")
    journal.register("a", USER_WITH_NAME)
    journal.register("gone", '"int"')
    journal.do(delete_subject(journal.state, "gone"))
    journal.register("user")
    journal.register("team", TEAM, references=[("User", "user", 1)])
    journal.do(create_kek(journal.state, CreateKekRequest("kek", "aws-kms", "arn")))
    journal.do(create_dek(journal.state, "kek", CreateDekRequest("a", encrypted_key_material="e")))
    return journal


def topic(
    *infos: AssociationInfo, name: str = "t", namespace: str | None = "ns"
) -> AssociationRequest:
    return AssociationRequest(name, namespace, f"id-{name}", "topic", list(infos))


def associated(journal: Journal, info: AssociationInfo, name: str = "t") -> None:
    journal.do(create_associations(journal.state, topic(info, name=name)))


def _soft_deleted_version(journal: Journal) -> None:
    journal.do(delete_version(journal.state, "a", "1"))
    delete_version(journal.state, "a", "1")


def _wrong_id(journal: Journal) -> None:
    journal.do(set_mode(journal.state, "i", ModeUpdateRequest("IMPORT")))
    journal.register("i", '"long"', id=70, version=1)
    journal.register("i", '"long"', id=71, version=2)


def _taken_id(journal: Journal) -> None:
    journal.do(set_mode(journal.state, "i", ModeUpdateRequest("IMPORT")))
    journal.register("i", '"long"', id=1, version=1)


def _immutable_mode(journal: Journal) -> None:
    frozen = Journal(Defaults(mode_mutability=False))
    set_mode(frozen.state, None, ModeUpdateRequest("READONLY"))


def _context_not_empty(journal: Journal) -> None:
    journal.register(":.c:x")
    delete_context(journal.state, ".c")


def _strong_exists(journal: Journal) -> None:
    associated(journal, AssociationInfo("a", "value"))
    create_associations(journal.state, topic(AssociationInfo("a", "value"), name="u"))


def _weak_exists(journal: Journal) -> None:
    associated(journal, AssociationInfo("a", "value", "WEAK"))
    create_associations(journal.state, topic(AssociationInfo("a", "value"), name="u"))


def _resource_has_one(journal: Journal) -> None:
    associated(journal, AssociationInfo("a", "value"))
    create_associations(journal.state, topic(AssociationInfo("user", "value")))


def _frozen(journal: Journal) -> None:
    associated(journal, AssociationInfo("a", "value", "STRONG", True))
    delete_associations(journal.state, "id-t")


def _owned_subject(journal: Journal) -> None:
    associated(journal, AssociationInfo("a", "value"))
    delete_subject(journal.state, "a")


def _deleted_key(journal: Journal) -> None:
    journal.do(create_kek(journal.state, CreateKekRequest("old", "aws-kms", "arn")))
    key = CreateDekRequest("a", None, None, "ZW5j", deleted=True)
    journal.do(create_dek(journal.state, "old", key))
    journal.do(delete_kek(journal.state, "old"))
    undelete_dek(journal.state, "old", "a")


def schema(text: str | None = USER, kind: str | None = None) -> RegisterSchemaRequest:
    return RegisterSchemaRequest(schema=text, schema_type=kind)


def rules(*found: Rule) -> RuleSet:
    return RuleSet(domain_rules=list(found))


Provocation = Callable[[Journal], object]

TABLE: list[tuple[int, str, Provocation]] = [
    (40401, "Subject 'x' not found.", lambda j: list_versions(j.state, "x")),
    (40401, "Subject 'x' not found.", lambda j: get_version(j.state, "x", "1")),
    (40401, "Subject 'x' not found.", lambda j: look_up(j.state, "x", schema())),
    (40401, "Subject 'x' not found.", lambda j: delete_subject(j.state, "x")),
    (40401, "Subject 'x' not found.", lambda j: delete_version(j.state, "x", "1")),
    (40401, "Subject 'x' not found.", lambda j: delete_config(j.state, "x")),
    (40401, "Subject 'x' not found.", lambda j: delete_mode(j.state, "x")),
    (40402, "Version 9 not found.", lambda j: get_version(j.state, "a", "9")),
    (40402, "Version 9 not found.", lambda j: delete_version(j.state, "a", "9")),
    (40402, "Version 9 not found.", lambda j: check_compatibility(j.state, "a", "9", schema())),
    (40403, "Schema 7777 not found", lambda j: get_schema_by_id(j.state, 7777)),
    (40403, "Schema not found", lambda j: look_up(j.state, "a", schema('"int"'))),
    (40403, "Schema nonsense not found", lambda j: get_schema_by_guid(j.state, "nonsense")),
    (
        40404,
        "Subject 'gone' was soft deleted.Set permanent=true to delete permanently",
        lambda j: delete_subject(j.state, "gone"),
    ),
    (
        40405,
        "Subject 'a' was not deleted first before being permanently deleted",
        lambda j: delete_subject(j.state, "a", permanent=True),
    ),
    (
        40406,
        "Subject 'a' Version 1 was soft deleted.Set permanent=true to delete permanently",
        _soft_deleted_version,
    ),
    (
        40407,
        "Subject 'a' Version 1 was not deleted first before being permanently deleted",
        lambda j: delete_version(j.state, "a", "1", permanent=True),
    ),
    (
        40408,
        "Subject 'a' does not have subject-level compatibility configured",
        lambda j: get_config(j.state, "a"),
    ),
    (
        40409,
        "Subject 'a' does not have subject-level mode configured",
        lambda j: get_mode(j.state, "a"),
    ),
    (40410, "No association found for resource 'r'", lambda j: delete_associations(j.state, "r")),
    (
        409,
        'Schema being registered is incompatible with an earlier schema for subject "a", details',
        lambda j: j.register("a", USER_WITH_AGE),
    ),
    (40902, "An association of type 'value' already exists for subject 'a'", _owned_subject),
    (40903, "An association of type 'value' already exists for resource 't'", _resource_has_one),
    (40904, "A strong association exists for subject 'a'", _strong_exists),
    (40905, "A weak association exists for subject 'a'", _weak_exists),
    (40906, "The association of type 'value' is frozen for subject 'a'", _frozen),
    (
        40907,
        "No active subject version exists for subject 'x'",
        lambda j: create_associations(j.state, topic(AssociationInfo("x", "value"))),
    ),
    (42201, "Invalid schema of type AVRO, details: ", lambda j: j.register("a", "{")),
    (42201, "Invalid schema of type JSON, details: ", lambda j: j.register("b", "{", kind="JSON")),
    (
        42201,
        "Invalid schema of type PROTOBUF, details: ",
        lambda j: j.register("b", "message", kind="PROTOBUF"),
    ),
    (42201, "Invalid schema type XML", lambda j: j.register("a", "{}", kind="XML")),
    (42201, "Empty schema", lambda j: j.register("new", " ")),
    (40403, "Schema not found", lambda j: look_up(j.state, "a", schema(None))),
    (40403, "Schema not found", lambda j: look_up(j.state, "a", schema(" "))),
    (40401, "Subject 'x' not found.", lambda j: look_up(j.state, "x", schema(""))),
    (
        42201,
        'Invalid schema, details: No schema reference found for subject "x" and version 1',
        lambda j: j.register("b", TEAM, references=[("User", "x", 1)]),
    ),
    (
        42202,
        "The specified version '0' is not a valid version id. Allowed values are between "
        '[1, 2^31-1] and the string "latest"',
        lambda j: get_version(j.state, "a", "0"),
    ),
    (42202, "The specified version 'x'", lambda j: get_version(j.state, "a", "x")),
    (42202, "The specified version '-2'", lambda j: j.register("a", USER, version=-2)),
    (
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, "
        "backward_transitive, forward_transitive, and full_transitive",
        lambda j: set_config(j.state, None, ConfigUpdateRequest(compatibility="SOME")),
    ),
    (
        42203,
        "Invalid compatibility level.",
        lambda j: set_config(j.state, None, ConfigUpdateRequest(compatibility_policy="SOME")),
    ),
    (
        42204,
        "Invalid mode. Valid values are READWRITE, READONLY, READONLY_OVERRIDE, IMPORT",
        lambda j: set_mode(j.state, None, ModeUpdateRequest("SOME")),
    ),
    (
        42205,
        "Subject a in context . is not in import mode",
        lambda j: j.register("a", '"int"', id=9),
    ),
    (
        42205,
        "Cannot import since found existing subjects",
        lambda j: set_mode(j.state, None, ModeUpdateRequest("IMPORT")),
    ),
    (42205, "Mode changes are not allowed", _immutable_mode),
    (42205, "Overwrite new schema with id 1 in context . is not permitted.", _taken_id),
    (42205, "The default context cannot be deleted", lambda j: delete_context(j.state, ".")),
    (
        42206,
        "One or more references exist to the schema "
        "{magic=1,keytype=SCHEMA,subject=user,version=1}. It is referenced by subject 'team' "
        "version 1; delete those first.",
        lambda j: delete_subject(j.state, "user"),
    ),
    (42206, "One or more references", lambda j: delete_version(j.state, "user", "1")),
    (42207, "Schema already registered with id 70 instead of input id 71", _wrong_id),
    (42208, "The specified subject '__GLOBAL' is not a valid.", lambda j: j.register("__GLOBAL")),
    (42208, "The specified subject '?' is not a valid.", lambda j: j.register("\ud800")),
    (42208, "The specified subject 'a\n' is not a valid.", lambda j: j.register("a\n")),
    (
        42209,
        "Write failed because schema is too large: ",
        lambda j: j.register("a", '{"type":"string","doc":"' + "x" * 1_000 + '"}'),
    ),
    (42210, "Empty rule name", lambda j: j.register("r", rule_set=rules(Rule()))),
    (42210, "Missing rule kind", lambda j: j.register("r", rule_set=rules(Rule(name="r")))),
    (
        42210,
        "Found rule with duplicate name 'r'",
        lambda j: j.register(
            "r", rule_set=rules(*[Rule(name="r", kind="CONDITION", mode="READ", type="CEL")] * 2)
        ),
    ),
    (
        42210,
        "Domain rules can only be WRITE, READ, WRITEREAD",
        lambda j: j.register(
            "r", rule_set=rules(Rule(name="r", kind="CONDITION", mode="UPGRADE", type="CEL"))
        ),
    ),
    (
        42210,
        "Illegal character in rule name: r r",
        lambda j: set_config(
            j.state, None, ConfigUpdateRequest(default_rule_set=rules(Rule(name="r r")))
        ),
    ),
    (42211, "The specified context '.c' is not empty.", _context_not_empty),
    (
        42212,
        "The association specified an invalid value for property: resourceNamespace",
        lambda j: create_associations(j.state, topic(AssociationInfo("a"), namespace=None)),
    ),
    (
        42212,
        "The association specified an invalid value for property: lifecycle",
        lambda j: create_associations(j.state, topic(AssociationInfo("a", "value", "SOME"))),
    ),
    (40470, "Key 'x' not found", lambda j: get_kek(j.state, "x")),
    (40470, "Key 'x' not found", lambda j: get_dek(j.state, "kek", "x")),
    (
        40471,
        "Key 'a' was not deleted first before being permanently deleted",
        lambda j: delete_dek(j.state, "kek", "a", permanent=True),
    ),
    (40472, "Key 'old' must be undeleted first", _deleted_key),
    (
        40971,
        "Key 'kek' already exists; use a different value",
        lambda j: create_kek(j.state, CreateKekRequest("kek", "gcp-kms", "other")),
    ),
    (42271, "Key '1' is not valid: ", lambda j: create_kek(j.state, CreateKekRequest("1"))),
    (
        42271,
        "Key 'b' is not valid: encryptedKeyMaterial is missing",
        lambda j: create_dek(j.state, "kek", CreateDekRequest("b")),
    ),
    (
        42272,
        "Key 'kek' has references and cannot be deleted",
        lambda j: delete_kek(j.state, "kek"),
    ),
]


@pytest.mark.parametrize(
    ("code", "message", "provoke"), TABLE, ids=[f"{code}-{text[:40]}" for code, text, _ in TABLE]
)
def test_every_code_has_its_cause_and_its_text(
    code: int, message: str, provoke: Provocation
) -> None:
    """What a client does wrong is answered with the code and the text of Confluent's registry."""
    journal = prepared()
    with pytest.raises(errors.RegistryError) as refused:
        provoke(journal)
    assert refused.value.error_code == code
    assert refused.value.message.startswith(message)
    assert refused.value.http_status == (409 if code == 409 else code // 100)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.store_error("m"), 50001),
        (errors.operation_timeout("m"), 50002),
        (errors.forwarding_failed("m"), 50003),
        (errors.unknown_leader("m"), 50004),
        (errors.too_many_associations(5), 40908),
        (errors.too_many_keys(5), 40972),
    ],
)
def test_codes_of_the_service_have_their_status(error: errors.RegistryError, code: int) -> None:
    """Codes that need a store or a very full registry."""
    assert error.error_code == code
    assert error.http_status == code // 100
