"""Look-ups and listings, with their filters and pages."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest

from headrace.registry.configs import set_config
from headrace.registry.deletion import delete_subject, delete_version
from headrace.registry.entities import (
    ConfigUpdateRequest,
    ContextId,
    Metadata,
    ModeUpdateRequest,
    RegisterSchemaRequest,
    Rule,
    RuleSet,
    SubjectVersion,
)
from headrace.registry.errors import RegistryError
from headrace.registry.lists import (
    list_contexts,
    list_referers,
    list_schemas,
    list_subjects,
    list_subjects_of_id,
    list_versions,
    list_versions_of_id,
)
from headrace.registry.look_up import (
    get_by_metadata,
    get_schema_by_guid,
    get_schema_by_id,
    get_schema_text,
    get_version,
    get_version_text,
    ids_of_guid,
    look_up,
)
from headrace.registry.modes import set_mode

from .journal import TEAM, USER, USER_WITH_NAME, Journal, as_json


@pytest.fixture
def journal() -> Journal:
    """Two subjects in the default context, one in another, one deleted."""
    made = Journal()
    made.register("a")
    made.register("a", USER_WITH_NAME)
    made.register("b")
    made.register(":.c:a", '"int"')
    made.register("gone", '"long"')
    made.do(delete_subject(made.state, "gone"))
    return made


@pytest.mark.spec("slides:G13")
def test_subjects_are_listed(journal: Journal) -> None:
    """Of all contexts by default; prefix, deletion and page choose."""
    state = journal.state
    assert list_subjects(state) == [":.c:a", "a", "b"]
    assert list_subjects(state, prefix="") == ["a", "b"]
    assert list_subjects(state, prefix="a") == ["a"]
    assert list_subjects(state, prefix=":.c:") == [":.c:a"]
    assert list_subjects(state, prefix=":*:a") == [":.c:a", "a"]
    assert list_subjects(state, deleted=True) == [":.c:a", "a", "b", "gone"]
    assert list_subjects(state, deleted_only=True) == ["gone"]
    assert list_subjects(state, offset=1, limit=1) == ["a"]
    assert list_subjects(state, offset=9) == []
    assert list_subjects(state, offset=-3, limit=0) == [":.c:a", "a", "b"]


@pytest.mark.spec("slides:G14")
def test_versions_are_listed(journal: Journal) -> None:
    """Deletion and page choose."""
    journal.do(delete_version(journal.state, "a", "1"))
    assert list_versions(journal.state, "a") == [2]
    assert list_versions(journal.state, "a", deleted=True) == [1, 2]
    assert list_versions(journal.state, "a", deleted_only=True) == [1]
    assert list_versions(journal.state, "a", deleted=True, offset=1, limit=5) == [2]


def test_a_subject_without_deleted_versions_has_an_empty_list_of_them(journal: Journal) -> None:
    """40401 is for subjects that do not exist, or of which nothing is left."""
    assert list_versions(journal.state, "a", deleted_only=True) == []
    assert list_versions(journal.state, "gone", deleted_only=True) == [1]
    for subject, only in (("none", True), ("none", False), ("gone", False)):
        with pytest.raises(RegistryError) as refused:
            list_versions(journal.state, subject, deleted_only=only)
        assert refused.value.error_code == 40401


@pytest.mark.spec("slides:G15", "slides:G16")
def test_a_version_is_read_by_number_or_as_the_latest(journal: Journal) -> None:
    """The reply has the properties of Confluent's."""
    first = get_version(journal.state, "a", "1")
    assert as_json(first) == {
        "subject": "a",
        "version": 1,
        "id": 1,
        "guid": first.guid,
        "schemaType": "AVRO",
        "schema": USER,
        "ts": first.ts,
        "deleted": False,
    }
    assert get_version(journal.state, "a", "latest").version == 2
    assert get_version(journal.state, "a", "-1").version == 2
    assert get_version_text(journal.state, "a", "2") == USER_WITH_NAME


def test_a_subject_without_context_is_found_in_any(journal: Journal) -> None:
    """The default context first."""
    journal.register(":.c:only", '"string"')
    assert get_version(journal.state, "only", "1").subject == ":.c:only"
    assert get_version(journal.state, "a", "1").subject == "a"
    request = RegisterSchemaRequest(schema='"string"')
    assert look_up(journal.state, "only", request).subject == ":.c:only"


@pytest.mark.spec("slides:G17", "slides:G05")
def test_a_schema_is_read_by_its_id(journal: Journal) -> None:
    """With a subject the reply names it; an unknown subject in no context still finds the id."""
    state = journal.state
    plain = get_schema_by_id(state, 1)
    assert (plain.schema, plain.subject) == (USER, None)
    named = get_schema_by_id(state, 1, subject="b", fetch_max_id=True)
    assert (named.subject, named.version, named.max_id) == ("b", 1, 3)
    assert get_schema_by_id(state, 1, subject=":.c:a").schema == '"int"'
    assert get_schema_by_id(state, 1, subject="nobody").schema == USER
    assert get_schema_text(state, 1) == USER
    with pytest.raises(RegistryError, match="Schema 1 not found"):
        get_schema_by_id(state, 1, subject=":.c:nobody")


def test_the_body_of_a_schema_by_id_is_ready(journal: Journal) -> None:
    """What is sent again and again is encoded once, and not longer than it is true."""
    state = journal.state
    body = state.encoded_schema(1)
    assert body is not None
    assert body is state.encoded_schema(1)
    assert b'"deleted":false' in body
    assert state.encoded_schema(1, ".c") != body
    assert state.encoded_schema(99) is None
    for subject in ("a", "b"):
        journal.do(delete_subject(state, subject))
    assert b'"deleted":true' in (state.encoded_schema(1) or b"")


def test_replies_have_the_properties_of_confluents(journal: Journal) -> None:
    """The type of Avro, too; time and deletion where a version is read, not where it is found."""
    state = journal.state
    body = state.encoded_schema(1)
    assert body is not None
    version = state.versions.by_id(".", 1)[0]
    shown = {"guid": version.content.guid, "schemaType": "AVRO"}
    stored = {**shown, "schema": USER, "ts": version.ts_ms, "deleted": False}
    assert as_json(msgspec.Raw(body)) == stored
    named = {"subject": "a", "version": 1, "id": 1}
    assert as_json(get_version(state, "a", "1")) == {**named, **stored}
    found = as_json(look_up(state, "a", RegisterSchemaRequest(schema=USER)))
    assert found == {**named, **shown, "schema": USER}
    assert as_json(list_schemas(state, prefix="a")[0]) == {**named, **stored}
    assert get_version(state, "gone", "1", deleted=True).deleted is True


@pytest.mark.spec("slides:G18")
def test_a_schema_is_looked_up_by_its_text(journal: Journal) -> None:
    """As it is written, or as it means."""
    found = look_up(journal.state, "a", RegisterSchemaRequest(schema=f" {USER} "))
    assert (found.version, found.id) == (1, 1)
    journal.register("j", '{"type":"object","title":"T"}', kind="JSON", normalize=True)
    other = RegisterSchemaRequest(schema='{"title":"T","type":"object"}', schema_type="JSON")
    assert look_up(journal.state, "j", other, normalize=True).version == 1


def test_the_uses_of_an_id_are_listed(journal: Journal) -> None:
    """Subjects and versions, with and without what is deleted."""
    state = journal.state
    assert list_subjects_of_id(state, 1) == ["a", "b"]
    both = [SubjectVersion("a", 1), SubjectVersion("b", 1)]
    assert list_versions_of_id(state, 1) == both
    assert list_versions_of_id(state, 1, subject="b") == both[1:]
    assert list_versions_of_id(state, 1, offset=1, limit=1) == both[1:]
    journal.do(delete_subject(state, "b"))
    assert list_subjects_of_id(state, 1) == ["a"]
    assert list_subjects_of_id(state, 1, deleted=True) == ["a", "b"]


def test_a_guid_is_the_same_everywhere(journal: Journal) -> None:
    """It finds the ids of all contexts."""
    journal.register(":.c:b", USER)
    guid = get_version(journal.state, "a", "1").guid
    assert guid is not None
    assert UUID(guid)
    assert ids_of_guid(journal.state, guid) == [ContextId(".", 1), ContextId(".c", 2)]
    assert get_schema_by_guid(journal.state, guid).schema == USER


def test_a_version_is_found_by_its_metadata() -> None:
    """The newest one that has all the properties."""
    journal = Journal()
    journal.register("a", USER, metadata=Metadata(properties={"major": "1", "minor": "1"}))
    journal.register(
        "a", USER_WITH_NAME, metadata=Metadata(properties={"major": "1", "minor": "2"})
    )
    assert get_by_metadata(journal.state, "a", {"major": "1"}).version == 2
    assert get_by_metadata(journal.state, "a", {"major": "1", "minor": "1"}).version == 1
    with pytest.raises(RegistryError, match="Schema not found"):
        get_by_metadata(journal.state, "a", {"major": "2"})


def test_schemas_are_listed(journal: Journal) -> None:
    """With filters for prefix, deletion, latest, rules and aliases."""
    state = journal.state

    def places(**chosen: object) -> list[tuple[str, int]]:
        return [(each.subject, each.version) for each in list_schemas(state, **chosen)]  # type: ignore[arg-type]

    assert places() == [("a", 1), ("a", 2), ("b", 1)]
    assert places(latest_only=True) == [("a", 2), ("b", 1)]
    assert places(prefix=":*:", latest_only=True) == [(":.c:a", 1), ("a", 2), ("b", 1)]
    assert ("gone", 1) in places(deleted=True)
    assert places(offset=1, limit=1) == [("a", 2)]
    rule = Rule(name="r", kind="CONDITION", mode="WRITE", type="CEL")
    journal.register("ruled", rule_set=RuleSet(domain_rules=[rule]))
    assert places(rule_types=["CEL"]) == [("ruled", 1)]
    journal.do(set_config(state, "z", ConfigUpdateRequest(alias="b")))
    (listed,) = list_schemas(state, prefix="z", aliases=True)
    assert (listed.subject, listed.aliases) == ("b", ["z"])


def test_who_refers_to_a_version_is_listed() -> None:
    """By id, without those that are deleted."""
    journal = Journal()
    journal.register("user")
    team = journal.register("team", TEAM, references=[("User", "user", 1)])
    journal.register("copy", TEAM, references=[("User", "user", 1)])
    assert list_referers(journal.state, "user", "1") == [team.id]
    journal.do(delete_subject(journal.state, "team"))
    assert list_referers(journal.state, "user", "latest") == [team.id]
    journal.do(delete_subject(journal.state, "copy"))
    assert list_referers(journal.state, "user", "1") == []


def test_references_that_lead_in_a_circle_are_refused() -> None:
    """Only an import can make them; nothing hangs."""
    journal = Journal()
    journal.do(set_mode(journal.state, None, ModeUpdateRequest("IMPORT")))
    for name, other in (("x", "y"), ("y", "x")):
        value = (
            f'{{"subject":"{name}","version":1,"id":1,"references":[{{"name":"{other}",'
            f'"subject":"{other}","version":1}}],"schema":"\\"int\\"","deleted":false}}'
        )
        key = f'{{"keytype":"SCHEMA","subject":"{name}","version":1,"magic":1}}'
        journal.append(key.encode(), value.encode())
    with pytest.raises(RegistryError, match="leads back to itself") as refused:
        journal.register("z", '"int"', references=[("x", "x", 1)], id=5, version=1)
    assert refused.value.error_code == 42201


def test_contexts_are_listed(journal: Journal) -> None:
    """The default one first; prefix and page choose."""
    journal.register(":.d:x")
    assert list_contexts(journal.state) == [".", ".c", ".d"]
    assert list_contexts(journal.state, prefix=".c") == [".c"]
    assert list_contexts(journal.state, offset=1, limit=1) == [".c"]


def test_references_can_be_shown_with_their_context() -> None:
    """Whoever reads them from elsewhere knows then where they are."""
    journal = Journal()
    journal.register(":.c:user")
    team = journal.register(":.c:team", TEAM, references=[("User", "user", 1)])
    bare = get_version(journal.state, ":.c:team", "1").references
    full = get_version(journal.state, ":.c:team", "1", reference_format="qualified").references
    by_id = get_schema_by_id(
        journal.state, team.id, subject=":.c:", reference_format="QUALIFIED"
    ).references
    assert [each.subject for each in bare or ()] == ["user"]
    assert [each.subject for each in full or ()] == [":.c:user"]
    assert by_id == full
